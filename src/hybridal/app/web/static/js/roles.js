/** The roles of people, from the lowest to the highest. */
import { t } from "./i18n.js";

export const ROLES = ["annotator", "reviewer", "owner"];

/** The name of a role in the language of the page. */
export const roleName = (role) => ({ annotator: t("annotator"), reviewer: t("reviewer"), owner: t("owner") })[role];
