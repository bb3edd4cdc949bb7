"""`hybridal serve`: several projects on one server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybridal.cli import options as o
from hybridal.cli.label_command import NAMELESS, new_password
from hybridal.errors import UserError


def serve(
    folder: Annotated[Path, typer.Argument(help="A folder whose folders are projects; made where there is none.")],
    trainers: Annotated[
        int | None,
        typer.Option(min=1, help="Models that learn at a time [one a GPU, or four cores].", rich_help_panel=o.SERVER),
    ] = None,
    backbone: o.BackboneName = None,
    host: o.Host = "127.0.0.1",
    port: o.Port = None,
    browser: o.Browser = True,
    behind_proxy: o.BehindProxy = False,
    sign_in_header: o.SignInHeader = None,
    owner: o.Owner = None,
    db: o.Db = None,
) -> None:
    """Serve several projects, each a folder made by `hybridal label` or on the start page; stop with Ctrl-C."""
    try:
        from hybridal.app.people import checked_name
        from hybridal.app.serve import HERE, serve_folder
        from hybridal.app.web.proxy import check_sign_in
    except ModuleNotFoundError as error:
        raise UserError(f"The labelling app needs {error.name}; install `hybridal[app]`.") from error
    from hybridal.system.lock import locked

    if sign_in_header is not None:
        check_sign_in(sign_in_header, behind_proxy)
        if owner is None:
            raise UserError(NAMELESS, field="owner")
        owner = checked_name(owner)
    elif owner is not None:
        raise UserError("`owner`: it is the name that a proxy knows you by; add `sign_in_header`.", field="owner")
    password = None if host in HERE or owner is not None else new_password("A password for the start page")
    if (folder / "project.json").exists():
        raise UserError(f"{folder} is a project itself; serve it with `hybridal label`, or name the folder it is in.")
    folder.mkdir(0o700, parents=True, exist_ok=True)
    with locked(folder / ".serve.lock", folder):
        typer.echo(f"Projects in {folder}  (stop with Ctrl-C; all labels are kept)")
        serve_folder(
            folder,
            host=host,
            port=port,
            browser=browser,
            behind_proxy=behind_proxy,
            sign_in_header=sign_in_header,
            owner=owner,
            password=password,
            trainers=trainers,
            db=db,
            settings=o.given(backbone=backbone),
            announce=lambda address: typer.echo(f"Start page: {address}"),
        )
    typer.echo("Stopped. Go on with the same command.")
