/** The page Programs: API tokens and, for owners, webhooks. */
import { frame } from "./frame.js";
import { showErrors } from "./toast.js";
import { tokens } from "./tokens.js";
import { webhooks } from "./webhooks.js";

const { project } = await frame;
await showErrors(tokens);
if (project.me.role === "owner") await showErrors(webhooks);
