/** The page API reference; its content is rendered by the server. */
import "./frame.js";
