"""`python -m sim.model`: start the scripted model and print where it listens."""

import argparse
import asyncio
import os

from sim.chance import rate_option, rates_from_text
from sim.model.faults import FAULTS
from sim.model.mistakes import MISTAKES, MISTAKES_VARIABLE
from sim.model.server import Behaviour, ModelServer
from sim.process import add_server_options, serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="sim.model", description="A scripted language model behind an OpenAI-compatible API.")
    add_server_options(parser)
    parser.add_argument(
        "--delay-ms", type=float, default=0.0, help="wait this long before the first byte, and a tenth of it between pieces"
    )
    parser.add_argument("--chunk-chars", type=int, default=4, help="characters in one streamed piece")
    parser.add_argument(
        "--fault", action="append", default=[], type=rate_option(FAULTS), metavar="NAME=RATE", help=f"one of {', '.join(FAULTS)}"
    )
    parser.add_argument(
        "--mistake",
        action="append",
        default=[],
        type=rate_option(MISTAKES),
        metavar="NAME=RATE",
        help=f"share of prompts with {', '.join(MISTAKES)}; beats {MISTAKES_VARIABLE}=NAME=RATE,…",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of faults, mistakes and wording")
    options = parser.parse_args()
    try:
        mistakes = rates_from_text(os.environ.get(MISTAKES_VARIABLE, ""), MISTAKES) | dict(options.mistake)
    except ValueError as error:
        parser.error(f"{MISTAKES_VARIABLE}: {error}")
    behaviour = Behaviour(
        delay_ms=options.delay_ms,
        chunk_chars=max(1, options.chunk_chars),
        faults=dict(options.fault),
        mistakes=mistakes,
        seed=options.seed,
    )
    asyncio.run(serve(ModelServer(behaviour).app(), host=options.host, port=options.port, exit_with_stdin=options.exit_with_stdin))


if __name__ == "__main__":
    main()
