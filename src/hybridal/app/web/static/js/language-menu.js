/** The menu of languages at the foot of each page. The choice is a cookie, because the server renders the pages. */
import { byId } from "./dom.js";

const COOKIE = "hybridal-language";
const YEAR_SECONDS = 365 * 24 * 3600;

const menu = byId("language");
menu?.addEventListener("change", () => {
  document.cookie = `${COOKIE}=${menu.value}; path=/; max-age=${YEAR_SECONDS}; samesite=lax`;
  location.reload();
});
