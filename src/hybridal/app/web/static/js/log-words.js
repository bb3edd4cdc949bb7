/** Actions and details of the audit log in words, with the names that the pages Settings and People use. */
import { language, t } from "./i18n.js";
import { roleName } from "./roles.js";

const TITLES = {
  settings: { change: t("Settings changed") },
  classes: {
    add: t("Classes added"),
    rename: t("Class renamed"),
    describe: t("Class described"),
    group: t("Groups of classes changed"),
    archive: t("Class archived"),
    restore: t("Class restored"),
    delete: t("Class deleted"),
    merge: t("Classes merged"),
    split: t("Class split"),
    redefine: t("Class redefined"),
    change: t("Classes changed"),
  },
  people: {
    invite: t("Invitation created"),
    revoke: t("Invitation revoked"),
    join: t("Person joined"),
    change: t("Person changed"),
    password: t("Password set"),
    token: t("Access token created"),
    revoke_token: t("Access token revoked"),
  },
  exports: { export: t("File exported") },
};

const DETAILS = {
  settings: {
    name: t("Name of the project"),
    guidelines: t("Guidelines"),
    budget: t("Labels planned"),
    batch: t("New labels before the model learns again"),
    overlap: t("Share of new texts labelled by several people"),
    overlap_people: t("People per shared text"),
    on_disagreement: t("If they disagree"),
    consensus_per: t("They agree on"),
    page_language: t("Language of the pages, for people who have not chosen one"),
    show_predictions: t("Show the model's prediction while labelling (it may influence people)"),
    preselect: t("Choose the suggested or shown predicted classes already (quicker, but people may overlook wrong ones)"),
    look_alikes: t("Ask only once about texts that are almost the same (people can exclude some)"),
    open_classes: t("Reviewers may add classes while labelling"),
    newcomers: t("New people are"),
    validation_share: t("Share of labels set aside for validation"),
    protocol: t("Protocol"),
    overrides: t("Tokens that the model reads per text"),
    acquisition: t("What the model asks for"),
    lease_seconds: t("Seconds for which a text is kept for one person"),
  },
  classes: { version: t("Version of the codebook"), classes: t("Classes") },
  people: { person: t("Person"), name: t("Name"), role: t("Role"), active: t("May sign in"), number: t("Number") },
  exports: { file: t("File"), codebook: t("Version of the codebook"), model: t("With the model") },
};

const VALUES = {
  on_disagreement: { adjudication: t("a reviewer decides"), majority: t("the majority decides; without one, a reviewer") },
  consensus_per: { set: t("all classes of a text together"), class: t("each class by itself; only contested ones stay open") },
  page_language: { "": t("that of each person's browser") },
  newcomers: { none: t("not admitted until an owner adds them") },
};

const ROLE_DETAILS = ["role", "newcomers"];
const LANGUAGES = new Intl.DisplayNames(language, { type: "language" });

/** What was done. */
export const actionTitle = (area, action) => TITLES[area]?.[action] ?? action;

/** What a detail is about. */
export const detailName = (area, name) => DETAILS[area]?.[name] ?? name;

/** The value of a detail, or one before and after. */
export function detailValue(name, value) {
  return Array.isArray(value) && value.length === 2 ? `${inWords(name, value[0])} → ${inWords(name, value[1])}` : inWords(name, value);
}

function inWords(name, value) {
  const known = VALUES[name]?.[value] ?? (ROLE_DETAILS.includes(name) ? roleName(value) : null);
  if (known) return known;
  if (name === "page_language") return LANGUAGES.of(value);
  if (name === "overrides" && value !== null) return inWords("", value.max_length ?? t("as in the protocol"));
  if (typeof value === "boolean") return value ? t("yes") : t("no");
  if (typeof value === "number") return value.toLocaleString(language);
  if (typeof value === "object") return JSON.stringify(value);
  return value === "" ? "–" : value;
}
