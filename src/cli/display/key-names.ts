/** Splits what a terminal sends into key presses. Pure. */

const sequences: Readonly<Record<string, string>> = {
  '[A': 'up',
  '[B': 'down',
  '[C': 'right',
  '[D': 'left',
  '[H': 'home',
  '[F': 'end',
  '[1~': 'home',
  '[4~': 'end',
  '[5~': 'page-up',
  '[6~': 'page-down',
  '[7~': 'home',
  '[8~': 'end',
  '[Z': 'shift-tab',
}

const characters: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\u007f': 'backspace',
  '\b': 'backspace',
  '\u001b': 'escape',
}

/** The Escape key alone, or the sequence of a key: `ESC [ … letter`, `ESC O letter`, or with Alt: `ESC character`. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches what a terminal sends
const keyPattern = /\u001b(\[[\d;<?]*[ -/]*[@-~]|O[ -~]|[^\u001b[])?|./gsu

/** The characters of the keys, or their names, such as `up` and `enter`. Keys without a name are left out: they must not count as letters. */
export function toKeys(text: string): string[] {
  return [...text.matchAll(keyPattern)].flatMap(([key, sequence]) => {
    if (sequence === undefined) return [characters[key] ?? key]
    const name = sequences[sequence.replace(/^O/, '[')]
    return name === undefined ? [] : [name]
  })
}
