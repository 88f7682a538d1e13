"""`python -m sim.traffic`: play conversations as partners; one JSON line a call, a summary last, exit 0 when every call was answered."""

import argparse
import asyncio
import json
import sys
from pathlib import Path

from sim.process import add_process_options, run_until_stopped
from sim.traffic.partner import CallReport
from sim.traffic.playing import Play, play
from sim.traffic.scenario import load_scenarios


def main() -> None:
    parser = argparse.ArgumentParser(prog="sim.traffic", description="Plays accident conversations as partner teams would, over HTTP.")
    parser.add_argument("--base-url", required=True, help="where /chat, /set_info and /get_info are")
    parser.add_argument(
        "--caller", action="append", required=True, type=_caller, metavar="NAME=KEY", help="a partner and its API key, repeatable"
    )
    parser.add_argument("--sessions", type=int, default=10, help="conversations to play")
    parser.add_argument("--stream-share", type=float, default=0.5, help="share of conversations over server-sent events")
    parser.add_argument("--scenarios", type=Path, default=None, help="another file of scenarios")
    parser.add_argument("--rate-per-s", type=float, default=0.0, help="calls a second in all; 0 is as fast as answers come")
    parser.add_argument("--at-once", type=int, default=8, help="conversations under way at the same time")
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice of scenarios and of streaming")
    add_process_options(parser)
    options = parser.parse_args()
    plan = Play(
        base_url=options.base_url,
        callers=options.caller,
        scenarios=load_scenarios(options.scenarios),
        sessions=options.sessions,
        stream_share=options.stream_share,
        rate_per_s=options.rate_per_s,
        at_once=options.at_once,
        seed=options.seed,
    )
    sys.exit(asyncio.run(run_until_stopped(_told(plan), exit_with_stdin=options.exit_with_stdin)))


async def _told(plan: Play) -> int:
    def tell(report: CallReport) -> None:
        print(report.line(), flush=True)

    tally = await play(plan, tell)
    print(json.dumps(tally.summary(), separators=(",", ":")), flush=True)
    return 0 if tally.is_clean else 1


def _caller(text: str) -> tuple[str, str]:
    name, separator, key = text.partition("=")
    if not (name and separator and key):
        raise argparse.ArgumentTypeError("a caller is NAME=KEY")
    return name, key


if __name__ == "__main__":
    main()
