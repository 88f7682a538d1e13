"""`crossfade serve` under cProfile, as a process: `python -m bench.profiled FILE --port 0`. It writes when the server has ended."""

import argparse
import cProfile

from cli.serve import serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.profiled")
    parser.add_argument("file")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--exit-with-stdin", action="store_true")
    given = parser.parse_args()
    profiler = cProfile.Profile()
    profiler.runcall(serve, port=given.port, exit_with_stdin=given.exit_with_stdin)
    profiler.dump_stats(given.file)


if __name__ == "__main__":
    main()
