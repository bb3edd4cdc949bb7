/** The dialog that says whether nearly all texts of the class that is hunted are found, and draws the random sample for it. */
import { get, post } from "./api.js";
import { onPress } from "./controls.js";
import { byId, el } from "./dom.js";
import { percent } from "./format.js";
import { t, tn, whole } from "./i18n.js";
import { showErrors, toast } from "./toast.js";

/** @param {import("./next-choice.js").NextChoice} nextChoice @param {boolean} mayDraw @param {() => void} drawn */
export function recallDialog(nextChoice, mayDraw, drawn) {
  const [open, dialog] = [byId("recall-open"), byId("recall-dialog")];
  if (!nextChoice.select) return; // predictions are hidden from this person
  const draw = byId("recall-draw");
  const follow = () => (open.hidden = !nextChoice.class);
  nextChoice.select.addEventListener("change", follow);
  follow();
  open.disabled = false;

  function show(state) {
    byId("recall-title").textContent = t("Are nearly all texts of “{name}” found?", { name: nextChoice.class });
    byId("recall-story").replaceChildren(...story(state, mayDraw).map((sentence) => el("p", {}, sentence)));
    const more = toDraw(state);
    draw.hidden = !mayDraw || !more;
    draw.textContent = tn("Draw {n} random text", "Draw {n} random texts", more);
  }

  onPress(open, () =>
    showErrors(async () => {
      show(await get("/api/recall", { class: nextChoice.class }));
      draw.disabled = false;
      dialog.showModal();
    }),
  );
  onPress(draw, () =>
    showErrors(async () => {
      show(await post("/api/recall", { class: nextChoice.class }));
      dialog.close();
      toast(t("The sample is drawn. Its texts come next."));
      drawn();
    }),
  );
}

/** How many texts the next draw has. */
function toDraw({ holds, waiting, outdated, drawn, labels_needed: needed, left_out: leftOut }) {
  if (holds || (waiting && !outdated) || !leftOut) return 0;
  return outdated ? needed : needed - drawn;
}

/** Rounded down: it is a promise. */
const atLeast = (share) => percent(Math.floor(100 * share) / 100);

function story(state, mayDraw) {
  const { found, left_out: leftOut, drawn, sampled, missed, waiting, unsettled, outdated, holds, sure_recall: sure } = state;
  const more = toDraw(state);
  return [
    t("Labelled as this class: {found}. Without a label, and not given this class by the model: {left}.", { found: whole(found), left: whole(leftOut) }),
    outdated && t("Texts were added since the sample was drawn. It takes a new sample."),
    drawn && t("Random ones of these that are labelled: {done} of {drawn}. Of this class: {missed}.", { done: whole(sampled), drawn: whole(drawn), missed: whole(missed) }),
    (drawn || holds) && t("At least {share} of the texts of this class are found, with 95% confidence.", { share: atLeast(sure) }),
    unsettled &&
      tn(
        "{n} text of the sample was skipped or is disputed; decide it on the pages Texts and Review.",
        "{n} texts of the sample were skipped or are disputed; decide them on the pages Texts and Review.",
        unsettled,
      ),
    waiting && t("Label the rest of the sample: its texts come first while you look for this class."),
    more &&
      tn(
        "It takes {n} random text: if it does not belong to this class, at least 95% of its texts are found, with 95% confidence.",
        "It takes {n} random texts: if none belongs to this class, at least 95% of its texts are found, with 95% confidence.",
        more,
      ),
    more && !mayDraw && t("A reviewer or an owner can draw the sample."),
  ].filter(Boolean);
}
