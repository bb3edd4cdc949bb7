/** The dialog with one text: its label, its history, and a form to change the label. */
import { get, link } from "./api.js";
import { facts, setBadges } from "./badges.js";
import { classChecks } from "./class-checks.js";
import { classSelect } from "./class-select.js";
import { commentSection, markThreadsRead } from "./comment-threads.js";
import { contextList } from "./context-list.js";
import { onSubmit } from "./controls.js";
import { el, bdi } from "./dom.js";
import { ago } from "./format.js";
import { t, tParts } from "./i18n.js";
import { deleteButton } from "./delete-texts.js";
import { idempotentPost } from "./idempotent-post.js";
import { Reasons } from "./reasons.js";
import { reasonName, reasonSelect } from "./skip-reasons.js";
import { showErrors } from "./toast.js";

/**
 * @param {string} id
 * @param {{classes: {name: string}[], multi_label: boolean, me: {name: string, role: string}}} project
 * @param {() => void} changed
 * @param {number | null} [thread] the comments to scroll to
 * @returns {Promise<HTMLDialogElement>}
 */
export async function openText(id, project, changed, thread = null) {
  const item = await get(`/api/texts/${encodeURIComponent(id)}`);
  const decides = decidesForOthers(item, project.me);
  const own = currentAnnotation(item.annotations, project.me);
  const question = decides ? t("Final class (removes earlier flags)") : t("Your label");
  const setQuestion = decides
    ? t("Final classes (removes earlier flags); without any, none of the classes")
    : t("Your label; without any, none of the classes");
  const choice = project.multi_label
    ? setChoice(project.classes, setQuestion, decides ? item : own)
    : classChoice(project.classes, question, decides ? item.class : own?.class);
  const flagged = el("input", { type: "checkbox", checked: Boolean(own?.flagged) });
  const reason = reasonSelect(own?.reason);
  const comment = el("textarea", { rows: 2, maxlength: 2000, dir: "auto" });
  comment.value = own?.comment ?? "";
  const send = idempotentPost();
  const problem = el("p", { class: "problem", role: "alert", id: "text-problem" });
  const words = el("p", { class: "written whole", dir: "auto", tabindex: 0, role: "region", "aria-label": t("Text") }, item.text);
  const reasons = new Reasons(el("div", { class: "stack" }), () => words.firstChild, () => project.classes);
  const dialog = el(
    "dialog",
    { "aria-label": t("A text and its history"), onclose: () => (reasons.clear(), dialog.remove()) },
    el(
      "form",
      { class: "stack item" },
      words,
      facts(item, project.classes),
      item.prediction ? whyDetails(reasons, item, showProblem) : null,
      el("details", {}, el("summary", {}, t("Other columns of the file")), contextList(item.context)),
      choice.root,
      decides ? null : el("label", { class: "check" }, flagged, t("Flag it for a reviewer")),
      decides ? null : el("label", {}, t("Reason"), reason),
      decides ? null : el("label", {}, t("Comment"), comment),
      problem,
      el(
        "div",
        { class: "row" },
        item.deleted ? null : el("button", { class: "main" }, t("Save")),
        project.me.role === "owner" ? deleteButton(item, () => (dialog.close(), changed()), showProblem) : null,
        el("a", { class: "button plain", href: link(`/texts?${new URLSearchParams({ like: id, state: "unlabelled" })}`) }, t("More like this")),
        el("button", { type: "button", class: "plain", onclick: () => dialog.close() }, t("Close")),
      ),
    ),
    el("div", { class: "stack item" }, commentSection(item), el("h3", {}, t("History")), history(item.annotations, project.classes)),
  );
  onSubmit(dialog.firstChild, save);
  document.body.append(dialog);
  dialog.showModal();
  const opened = dialog.querySelector(`[data-thread="${thread}"]`);
  opened?.scrollIntoView({ block: "nearest" });
  opened?.querySelector("textarea").focus({ preventScroll: true });
  showErrors(() => markThreadsRead(item.threads));
  return dialog;

  async function save() {
    const answer = choice.answer();
    if (!answer) return void (problem.textContent = t("Choose a class first."));
    const body = { text: id, ...answer };
    await showProblem(async () => {
      if (decides) await send("/api/adjudications", body);
      else
        await send("/api/annotations", {
          ...body,
          action: "label",
          flagged: flagged.checked,
          comment: comment.value.trim(),
          ...(reason.value && { reason: reason.value }),
        });
      dialog.close();
      changed();
    });
  }

  /** Shows errors in the dialog, because a toast behind it cannot be reached. */
  async function showProblem(act) {
    try {
      await act();
    } catch (error) {
      problem.textContent = error.message;
    }
  }
}

/** Explains the prediction once it is opened. */
function whyDetails(reasons, item, showProblem) {
  const toggled = ({ target }) => (target.open ? showProblem(() => reasons.show(item.id)) : reasons.clear());
  return el("details", { ontoggle: toggled }, el("summary", {}, t("Why this prediction?")), reasons.root);
}

/** A select element for the class of a text. */
function classChoice(classes, label, chosen) {
  const select = classSelect(classes, t("choose a class"), chosen);
  select.autofocus = true;
  select.removeAttribute("aria-label"); // the form labels it
  select.setAttribute("aria-describedby", "text-problem");
  const answer = () => {
    select.ariaInvalid = String(!select.value);
    if (!select.value) select.focus();
    return select.value ? { class: select.value } : null;
  };
  return { root: el("label", {}, label, select), answer };
}

/** Checkboxes for the classes of a text that may have several; none of them is an answer. */
function setChoice(classes, label, given) {
  const checks = classChecks(classes, label, given?.classes ?? []);
  return { root: checks.root, answer: () => ({ classes: checks.chosen() }) };
}

/** Whether saving is a final decision: a reviewer opens a text that other people have labelled. */
function decidesForOthers(item, me) {
  return me.role !== "annotator" && item.annotations.some(({ person, action }) => person !== me.name && action === "label");
}

/** The person's last annotation that they have not undone. */
function currentAnnotation(annotations, me) {
  const valid = [];
  for (const annotation of annotations.filter(({ person }) => person === me.name)) {
    if (annotation.action === "withdraw") valid.pop();
    else valid.push(annotation);
  }
  return valid.at(-1);
}

function history(annotations, classes) {
  if (!annotations.length) return el("p", { class: "muted small" }, t("No annotations yet."));
  const given = (annotation) => (annotation.classes ? setBadges(annotation, classes) : [bdi(annotation.class)]);
  const described = (annotation) => {
    const person = el("b", {}, bdi(annotation.person));
    if (annotation.action === "skip") return tParts("{person} skipped it", { person });
    if (annotation.action === "withdraw") return tParts("{person} undid that", { person });
    const names = { person, classes: el("span", {}, ...given(annotation)) };
    if (annotation.copied) return tParts("{person} chose {classes} for a text that is almost the same", names);
    return annotation.decides ? tParts("{person} decided for {classes}", names) : tParts("{person} chose {classes}", names);
  };
  const flag = ({ flagged }) => (flagged ? ` ${t("and flagged it")}` : null);
  const line = (annotation) =>
    el(
      "li",
      {},
      ...described(annotation),
      flag(annotation),
      annotation.reason ? ` · ${reasonName(annotation.reason)}` : null,
      el("span", { class: "muted" }, ` · ${ago(annotation.at)}`),
      annotation.comment ? el("p", { class: "written", dir: "auto" }, annotation.comment) : null,
    );
  return el("ul", { class: "history" }, ...annotations.toReversed().map(line));
}
