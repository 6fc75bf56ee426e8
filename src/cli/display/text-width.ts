/** Widths of text in columns of a terminal. Pure. Expects text without control characters: see `printable` in terminal.ts. */

/** Characters of two columns: East Asian wide and fullwidth ones (Unicode Standard Annex 11), and emoji. */
const wide =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2ff}\u{1f200}-\u{1f251}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u

/** Combining marks and variation selectors: they are drawn over the character before them. */
const combining = /[\p{Mn}\p{Me}]/u

/** The number of columns that a text takes. */
export function widthOf(text: string): number {
  // Most texts are ASCII.
  if (/^[ -~]*$/.test(text)) return text.length
  let width = 0
  for (const character of text) width += widthOfCharacter(character)
  return width
}

function widthOfCharacter(character: string): number {
  if (combining.test(character)) return 0
  return wide.test(character) ? 2 : 1
}

/** Cuts a text to a number of columns, with an ellipsis. */
export function truncate(width: number, text: string): string {
  if (width < 1) return ''
  let used = 0
  let [cut, end] = [0, 0]
  for (const character of text) {
    used += widthOfCharacter(character)
    if (used > width) return `${text.slice(0, cut)}…`
    end += character.length
    if (used < width) cut = end
  }
  return text
}

/** Cuts or pads a text to exactly this number of columns. */
export function fitTo(width: number, text: string, alignment: 'left' | 'right' = 'left'): string {
  const cut = truncate(width, text)
  const padding = ' '.repeat(Math.max(0, width - widthOf(cut)))
  return alignment === 'left' ? `${cut}${padding}` : `${padding}${cut}`
}
