"""`crossfade`: one command a file, listed here. Errors that an operator can mend are one line and an exit code, never a traceback."""

import sys

from cyclopts import App
from pydantic import ValidationError

from cli.client import app as client
from cli.demo import demo
from cli.doctor import doctor
from cli.eval import evaluate
from cli.exit_codes import Exit
from cli.migrate import migrate
from cli.output import complain, console
from cli.report import app as report
from cli.rollout import app as rollout
from cli.serve import serve
from cli.shadow_worker import shadow_worker
from domain.errors import StoreUnavailable
from domain.plan import InvalidPlan, PlanConflict
from storage.engine import DATABASE_ERRORS
from wiring.backends import MissingSetting
from wiring.database import MissingDsn

app = App(
    name="crossfade", help="Move a live, stateful LLM chat service from one backend to another, and prove every step.", console=console
)
app.command(serve)
app.command(shadow_worker)
app.command(migrate)
app.command(rollout)
app.command(report)
app.command(client)
app.command(doctor)
app.command(demo)
app.command(evaluate, name="eval")


def run() -> None:
    try:
        code = app(sys.argv[1:], result_action="return_value")
    except ValidationError as error:
        complain("; ".join(f"{'.'.join(map(str, one['loc'])) or 'settings'}: {one['msg']}" for one in error.errors(include_input=False)))
        code = Exit.USAGE
    except (MissingSetting, MissingDsn, InvalidPlan) as error:
        complain(str(error))
        code = Exit.USAGE
    except PlanConflict as error:
        complain(f"{error}: look at it and try again")
        code = Exit.CONFLICT
    except (StoreUnavailable, *DATABASE_ERRORS) as error:
        complain(f"the database did not answer ({type(error).__name__})")
        code = Exit.UNREACHABLE
    except KeyboardInterrupt:
        code = 130
    sys.exit(code or 0)


if __name__ == "__main__":
    run()
