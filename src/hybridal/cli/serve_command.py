"""`hybridal serve`: several projects on one server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybridal.cli import options as o
from hybridal.cli.label_command import OWNER_MISSING, new_password
from hybridal.errors import UserError


def serve(
    folder: Annotated[Path, typer.Argument(help="Folder with one folder per project; created if missing.")],
    trainers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Models that train at the same time [one per GPU, or per four cores].", rich_help_panel=o.SERVER
        ),
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
    from hybridal.system.private import create_private

    if sign_in_header is not None:
        check_sign_in(sign_in_header, behind_proxy)
        if owner is None:
            raise UserError(OWNER_MISSING, field="owner")
        owner = checked_name(owner)
    elif owner is not None:
        raise UserError("`owner` is the name under which a proxy signs you in; add `sign_in_header`.", field="owner")
    password = None if host in HERE or owner is not None else new_password("A password for the start page")
    if (folder / "project.json").exists():
        raise UserError(f"{folder} is a project itself; serve it with `hybridal label`, or name the folder it is in.")
    o.check_backbone(backbone)
    create_private(folder)
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
    typer.echo("Stopped. Resume with the same command.")
