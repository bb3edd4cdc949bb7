"""`hybridal label`: label texts in the browser while the model trains in the background."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybridal.cli import options as o
from hybridal.errors import UserError
from hybridal.runs.settings import DEMO

if TYPE_CHECKING:
    from hybridal.app.project import Project

_PLAN = "Plan"
PASSWORD_VARIABLE = "HYBRIDAL_OWNER_PASSWORD"
OWNER_MISSING = "`owner`: give the name under which the proxy signs you in."


def label(
    file: Annotated[
        str | None,
        typer.Argument(
            help="A file with texts (CSV, XLSX, JSON, …) or a project folder; none: choose it in the browser."
        ),
    ] = None,
    text: o.Text = None,
    label: o.Label = None,
    id: o.Id = None,
    classes: Annotated[
        str | None, typer.Option(help="The classes: a,b,c (default: define them as you go).", rich_help_panel="Task")
    ] = None,
    drop_empty: o.DropEmpty = False,
    drop_duplicates: o.DropDuplicates = False,
    multi_label: o.MultiLabel = False,
    label_separator: o.LabelSeparator = None,
    suggested: Annotated[
        bool, typer.Option("--suggested", help="Treat labels in the file as suggestions only.", rich_help_panel="Task")
    ] = False,
    budget: Annotated[int | None, typer.Option(help="Labels planned [800].", rich_help_panel=_PLAN)] = None,
    batch: Annotated[
        int | None, typer.Option(help="New labels before the model trains again [16].", rich_help_panel=_PLAN)
    ] = None,
    validation_first: Annotated[
        int | None,
        typer.Option(help="Labels set aside for validation at the start [10].", rich_help_panel=_PLAN),
    ] = None,
    overlap: Annotated[
        float | None, typer.Option(help="Share of texts that several people label [0].", rich_help_panel=_PLAN)
    ] = None,
    backbone: o.BackboneName = None,
    schedule: o.ScheduleSpec = None,
    host: o.Host = "127.0.0.1",
    port: o.Port = None,
    browser: o.Browser = True,
    behind_proxy: o.BehindProxy = False,
    sign_in_header: o.SignInHeader = None,
    owner: o.Owner = None,
    db: o.Db = None,
    project: Annotated[
        Path | None, typer.Option(help="Folder of the project (default: next to FILE).", rich_help_panel=o.SERVER)
    ] = None,
) -> None:
    """Label texts in the browser while the model trains in the background.

    Without a file, the projects of this folder are served, and a start page makes new ones (as `hybridal serve`).
    Stop with Ctrl-C; resume with the same command.
    """
    try:
        from hybridal.app.serve import HERE, bind, name_owner, serve, set_owner_password
        from hybridal.app.web.proxy import check_sign_in
    except ModuleNotFoundError as error:
        raise UserError(f"The labelling app needs {error.name}; install `hybridal[app]`.") from error
    from hybridal.system.lock import locked
    from hybridal.system.private import create_private

    folder = folder_of(file, project)
    settings = o.given(budget=budget, batch=batch, validation_first=validation_first, overlap=overlap)
    settings |= o.given(backbone=backbone, schedule=schedule)
    columns = o.given(text=text, label=o.label_columns(label), id=id, classes=o.names(classes))
    columns |= o.given(multi_label=multi_label, label_separator=label_separator)
    columns |= o.given(drop_empty=drop_empty, drop_duplicates=drop_duplicates, suggested=suggested)
    if file is None and project is None and not Path("project.json").is_file():
        if unused := [name for name in (columns | settings) if name != "backbone"]:
            raise UserError(f"`{unused[0]}` needs a file: name it, or leave this to the browser.", field=unused[0])
        from hybridal.cli.serve_command import serve as serve_here

        serve_here(Path.cwd(), None, backbone, host, port, browser, behind_proxy, sign_in_header, owner, db)
        return
    o.check_backbone(backbone)
    folder_is_new = not folder.exists()
    create_private(folder)
    try:
        with locked(folder / "app.lock", folder):
            # Make all checks first, so that a command that fails leaves no project behind.
            bind(host, port).close()
            if sign_in_header is not None:
                check_sign_in(sign_in_header, behind_proxy)
                check_owner(folder, db, owner)
            password = None if host in HERE or sign_in_header is not None else ask_password(folder, db)
            opened = open_or_create(file, folder, db, columns, settings)
            if password is not None:
                set_owner_password(opened, password)
            if owner is not None:
                name_owner(opened, owner)
            typer.echo(f"Project: {folder}  (stop with Ctrl-C; all labels are kept)")
            serve(
                opened,
                host=host,
                port=port,
                browser=browser,
                behind_proxy=behind_proxy,
                sign_in_header=sign_in_header,
                announce=announce,
            )
    except UserError:
        if folder_is_new:
            _remove_if_empty(folder)
        raise
    typer.echo("Stopped. Resume with the same command.")


def announce(address: str) -> None:
    """Print the address."""
    typer.echo(f"Label at {address}")


def folder_of(file: str | None, project: Path | None) -> Path:
    """Return the project folder: the given one, next to the file, or without both the present one.

    >>> folder_of("data/tickets.csv", None).as_posix(), folder_of(None, None).as_posix()
    ('data/tickets.hybridal', '.')
    """
    if project is not None or file is None:
        return project or Path()
    path = Path(file)
    return path if (path / "project.json").is_file() else path.with_suffix(".hybridal")


def open_or_create(
    file: str | None, folder: Path, db: str | None, columns: dict[str, Any], settings: dict[str, Any]
) -> Project:
    """Open the project in the folder, even if the file is gone; or create it from the file."""
    from hybridal.app.labelling.text_source import read_source
    from hybridal.app.project import Project
    from hybridal.cli.encoder_line import encoder_line
    from hybridal.schedules import make_schedule

    if "schedule" in settings:
        settings["schedule"] = make_schedule(settings["schedule"]).spec
    if Project.exists(folder, db):
        opened = Project.open(folder, db)
        kind = {name: value for name, value in columns.items() if name == "multi_label"}
        opened.decide(settings | kind, columns.get("classes", ()))
        return opened
    if file is None:
        columns, settings = {"classes": DEMO.classes, **columns}, {"backbone": DEMO.backbone, **settings}
    source = read_source(file or DEMO.task, **columns, notify=typer.echo)
    project = Project.create(source, folder, db=db, **settings)
    typer.echo(encoder_line(project.setting("backbone")))
    return project


def ask_password(folder: Path, db: str | None) -> str | None:
    """Ask for the owner's password if the app is open to others; return None if they have one already."""
    from hybridal.app.project import Project
    from hybridal.app.serve import has_owner_password

    if PASSWORD_VARIABLE not in os.environ and Project.exists(folder, db):
        with closing(Project.open(folder, db)) as project:
            if has_owner_password(project):
                return None
    return new_password("A password for you (you sign in as 'me')")


def new_password(question: str) -> str:
    """Return the password of the environment variable, or ask for one."""
    from hybridal.app.people import check_password

    given = os.environ.get(PASSWORD_VARIABLE)
    if given is None:
        if not sys.stdin.isatty():
            raise UserError(f"--host: others could open this address; set a password in {PASSWORD_VARIABLE}.")
        given = str(typer.prompt(question, hide_input=True, confirmation_prompt=True))
    check_password(given)
    return given


def check_owner(folder: Path, db: str | None, name: str | None) -> None:
    """Refuse to sign in through a proxy if the owner's name is neither given nor stored in the project."""
    from hybridal.app.people import CREATOR, checked_name, project_owner
    from hybridal.app.project import Project

    if name is not None:
        checked_name(name)
        return
    if Project.exists(folder, db):
        with closing(Project.open(folder, db)) as project, project.reads() as session:
            if project_owner(session).name != CREATOR:
                return
    raise UserError(OWNER_MISSING, field="owner")


def _remove_if_empty(folder: Path) -> None:
    """Remove a new project folder if the project could not be created."""
    (folder / "app.lock").unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()
