"""`python -m sim.fastgpt`: start the emulated server and print where it listens."""

import argparse
import asyncio
from pathlib import Path

from sim.chance import rate_option
from sim.fastgpt.eras import ERAS
from sim.fastgpt.plants import PLANTS
from sim.fastgpt.server import DEFAULT_KEY, HEARTBEAT_S, Options, app_of
from sim.process import add_server_options, serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="sim.fastgpt", description="An emulated FastGPT server with the accident workflow.")
    add_server_options(parser)
    parser.add_argument("--model-url", required=True, help="base URL of an OpenAI-compatible API, ending in /v1")
    parser.add_argument("--era", choices=sorted(ERAS), default="4.11.1", help="which release to speak like")
    parser.add_argument("--key", action="append", default=[], metavar="KEY", help=f"an accepted API key, repeatable; default {DEFAULT_KEY}")
    parser.add_argument("--noise", type=float, default=0.0, help="share of model answers in another wording, drawn per call")
    parser.add_argument(
        "--plant",
        action="append",
        default=[],
        type=rate_option(PLANTS),
        metavar="NAME=RATE",
        help=f"share of sessions with {', '.join(PLANTS)}",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of plants and noise")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="wait this long before each flow")
    parser.add_argument("--heartbeat-s", type=float, default=HEARTBEAT_S, help="seconds between heartbeats in a stream")
    parser.add_argument("--script", type=Path, help="YAML: which call of which chat goes wrong, and how")
    parser.add_argument("--calls-per-minute", type=int, help="refuse more calls than this, as the newest release does")
    parsed = parser.parse_args()
    options = Options(
        model_url=parsed.model_url,
        era=parsed.era,
        keys=tuple(parsed.key) or (DEFAULT_KEY,),
        noise=parsed.noise,
        plants=dict(parsed.plant),
        seed=parsed.seed,
        delay_ms=parsed.delay_ms,
        heartbeat_s=parsed.heartbeat_s,
        script=parsed.script.read_text("utf-8") if parsed.script else None,
        calls_per_minute=parsed.calls_per_minute,
    )
    asyncio.run(serve(app_of(options), host=parsed.host, port=parsed.port, exit_with_stdin=parsed.exit_with_stdin))


if __name__ == "__main__":
    main()
