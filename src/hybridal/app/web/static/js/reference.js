/** The reference for programs is complete as it comes. */
import "./frame.js";
