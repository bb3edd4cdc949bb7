/** The page for programs: tokens, and for owners webhooks. */
import { frame } from "./frame.js";
import { told } from "./toast.js";
import { tokens } from "./tokens.js";
import { webhooks } from "./webhooks.js";

const { project } = await frame;
await told(tokens);
if (project.me.role === "owner") await told(webhooks);
