"""`crossfade`: one command a file, listed here. Errors that an operator can mend are one line and an exit code, never a traceback."""

import sys

from cyclopts import App
from pydantic import ValidationError

from cli.exit_codes import Exit
from cli.output import complain, console
from domain.errors import StoreUnavailable
from domain.plan import InvalidPlan, PlanConflict
from storage.engine import DATABASE_ERRORS
from wiring.backends import MissingSetting
from wiring.database import MissingDsn

app = App(
    name="crossfade", help="Move a live, stateful LLM chat service from one backend to another, and prove every step.", console=console
)
# By name, so that a command loads what it needs and no more: some of them bring LangGraph or a web server.
_COMMANDS = {
    "serve": ("cli.serve:serve", "Serve /chat, /set_info, /get_info and /health until stopped."),
    "shadow-worker": (
        "cli.shadow_worker:shadow_worker",
        "Replay sampled turns on the other backend and store what differs.",
    ),
    "migrate": ("cli.migrate:migrate", "Bring the database to the newest schema. Safe to repeat."),
    "rollout": ("cli.rollout:app", "Who is served by which backend."),
    "session": ("cli.session:app", "One session: show it, move it, erase it."),
    "reconcile": ("cli.reconcile:reconcile_command", "Compare checkpoints and FastGPT chats with the sessions they copy; mend them."),
    "report": ("cli.report:app", "What the shadow found."),
    "client": ("cli.client:app", "Partner teams and their API keys."),
    "contract": ("cli.contract:app", "Does an address answer as partners were promised?"),
    "doctor": ("cli.doctor:doctor", "Check settings, database, roles, plan and both backends; say what is wrong in words."),
    "eval": ("cli.eval:evaluate", "Ask whether the configured model is good enough; exit 0 only if every threshold holds."),
    "demo": ("cli.demo:demo", "Start everything with simulators, play partners' conversations, and show what the shadow finds."),
}
for _name, (_target, _help) in _COMMANDS.items():
    app.command(_target, name=_name, help=_help)


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
