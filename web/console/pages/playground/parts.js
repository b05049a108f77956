// @ts-check

/** The keys that send a message, as the keyboard names them. */
export const sendKeys = /Mac|iP/.test(navigator.platform) ? "⌘↵" : "Ctrl ↵";
