// @ts-check
// The parts that pages are made of.

export * from "./parts.js";
export * from "./table.js";
export * from "./dialog.js";
export * from "./field.js";
