/** Words for whatever was thrown: for logs, events and the stored progress. Never throws, never shows what is inside objects. */

/** Stored on objects, whose annotations have 256 KiB together. */
const longest = 4000

/** The message of an error; else what it is, such as `TypeError()` or `undefined`. */
export function describeError(error: unknown): string {
  try {
    return shorten(describe(error))
  } catch {
    return 'an error that cannot be read'
  }
}

/** The class of an error, such as `TypeError`; for other things what kind of thing it is. */
export function nameError(error: unknown): string {
  try {
    if (typeof error !== 'object' || error === null) return error === null ? 'null' : typeof error
    const { name } = error as { name?: unknown }
    if (error instanceof Error && typeof name === 'string' && name !== '') return name
    return (Object.getPrototypeOf(error) as object | null)?.constructor.name || 'Object'
  } catch {
    return 'Object'
  }
}

function describe(error: unknown): string {
  if (typeof error === 'string') return error === '' ? '""' : error
  if (typeof error === 'function') return `function ${error.name}()`
  if (typeof error !== 'object' || error === null) return String(error)
  const { message } = error as { message?: unknown }
  if (typeof message === 'string' && message !== '') return message
  // Errors of sockets may have no message at all, only a code.
  const { code } = error as { code?: unknown }
  const detail = typeof code === 'string' || typeof code === 'number' ? String(code) : ''
  if (error instanceof Error) return `${nameError(error)}(${detail})`
  return `${nameError(error)} {${Object.keys(error).slice(0, 8).join(', ')}}`
}

/** Cut between characters, not within one that takes two places. */
function shorten(text: string): string {
  if (text.length <= longest) return text
  return `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
