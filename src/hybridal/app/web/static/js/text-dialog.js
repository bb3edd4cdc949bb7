/** One text with everything that was ever said of it, and a way to say something else. */
import { get, link } from "./api.js";
import { facts } from "./badges.js";
import { classSelect } from "./class-select.js";
import { contextList } from "./context-list.js";
import { onSubmit } from "./controls.js";
import { el, named } from "./dom.js";
import { ago } from "./format.js";
import { removeOne } from "./removal.js";
import { sender } from "./sender.js";

/**
 * @param {string} id
 * @param {{classes: {name: string}[], me: {name: string, role: string}}} project
 * @param {() => void} changed
 */
export async function openText(id, project, changed) {
  const item = await get(`/api/texts/${encodeURIComponent(id)}`);
  const decides = decidesForOthers(item, project.me);
  const said = mine(item.annotations, project.me);
  const select = classSelect(project.classes, "choose a class", decides ? item.class : said?.class);
  select.autofocus = true;
  select.removeAttribute("aria-label"); // it has a label of its own here
  select.setAttribute("aria-describedby", "text-problem");
  const flagged = el("input", { type: "checkbox", checked: Boolean(said?.flagged) });
  const comment = el("textarea", { rows: 2, maxlength: 2000, dir: "auto" });
  comment.value = said?.comment ?? "";
  const send = sender();
  const problem = el("p", { class: "problem", role: "alert", id: "text-problem" });
  const dialog = el(
    "dialog",
    { "aria-label": "A text and its history", onclose: () => dialog.remove() },
    el(
      "form",
      { class: "stack item" },
      el("p", { class: "written whole", dir: "auto", tabindex: 0, role: "region", "aria-label": "Text" }, item.text),
      facts(item, project.classes),
      el("details", {}, el("summary", {}, "Other columns of the file"), contextList(item.context)),
      el(
        "label",
        {},
        decides ? "Final class (removes earlier flags)" : "Your label",
        select,
      ),
      decides ? null : el("label", { class: "check" }, flagged, "Flag it for a reviewer"),
      decides ? null : el("label", {}, "Comment", comment),
      problem,
      el(
        "div",
        { class: "row" },
        item.deleted ? null : el("button", { class: "main" }, "Save"),
        project.me.role === "owner" ? removeOne(item, () => (dialog.close(), changed()), tried) : null,
        el("a", { class: "button plain", href: link(`/texts?${new URLSearchParams({ like: id, state: "unlabelled" })}`) }, "More like this"),
        el("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Close"),
      ),
      el("h3", {}, "History"),
      history(item.annotations),
    ),
  );
  onSubmit(dialog.firstChild, save);
  document.body.append(dialog);
  dialog.showModal();

  async function save() {
    const body = { text: id, class: select.value };
    select.ariaInvalid = String(!body.class);
    if (!body.class) return void (select.focus(), (problem.textContent = "Choose a class first."));
    await tried(async () => {
      if (decides) await send("/api/adjudications", body);
      else
        await send("/api/annotations", {
          ...body,
          action: "label",
          flagged: flagged.checked,
          comment: comment.value.trim(),
        });
      dialog.close();
      changed();
    });
  }

  /** What goes wrong is told in the dialog: nobody can reach a message on the page behind it. */
  async function tried(act) {
    try {
      await act();
    } catch (error) {
      problem.textContent = error.message;
    }
  }
}

/** Who may review settles what others said; everybody else, and the first to speak, gives an opinion. */
function decidesForOthers(item, me) {
  return me.role !== "annotator" && item.annotations.some(({ person, action }) => person !== me.name && action === "label");
}

/** What somebody says now: their last answer that they did not take back. */
function mine(annotations, me) {
  const kept = [];
  for (const answer of annotations.filter(({ person }) => person === me.name)) {
    if (answer.action === "withdraw") kept.pop();
    else kept.push(answer);
  }
  return kept.at(-1);
}

function history(annotations) {
  if (!annotations.length) return el("p", { class: "muted small" }, "No annotations yet.");
  const said = ({ action, class: name, decides }) =>
    action === "label"
      ? [decides ? " decided: " : " said ", named(name)]
      : [{ skip: " skipped it", withdraw: " took that back" }[action]];
  const flag = ({ flagged }) => (flagged ? " and flagged it" : null);
  const line = (answer) =>
    el(
      "li",
      {},
      el("b", {}, named(answer.person)),
      ...said(answer),
      flag(answer),
      el("span", { class: "muted" }, ` · ${ago(answer.at)}`),
      answer.comment ? el("p", { class: "written", dir: "auto" }, answer.comment) : null,
    );
  return el("ul", { class: "history" }, ...annotations.toReversed().map(line));
}
