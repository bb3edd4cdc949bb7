/** The page for programs: tokens. */
import { frame } from "./frame.js";
import { told } from "./toast.js";
import { tokens } from "./tokens.js";

await frame;
await told(tokens);
