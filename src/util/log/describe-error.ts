/** Describes thrown values in one text, for logs, events and stored progress. Never throws, and never shows the contents of objects. */

/** Maximum length: the text is stored in annotations, which are limited to 256 KiB in total. */
const maxLength = 4000

/** The message of an error; without a message its class, `TypeError()`; for other values a short form such as `undefined`. */
export function describeError(error: unknown): string {
  try {
    return shorten(describe(error))
  } catch {
    return 'an error that cannot be read'
  }
}

/** The class of an error or object, such as `TypeError`; for other values their type. */
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
  // Errors of sockets may have a code and no message.
  const { code } = error as { code?: unknown }
  const detail = typeof code === 'string' || typeof code === 'number' ? String(code) : ''
  if (error instanceof Error) return `${nameError(error)}(${detail})`
  return `${nameError(error)} {${Object.keys(error).slice(0, 8).join(', ')}}`
}

/** Truncates without splitting a surrogate pair. */
function shorten(text: string): string {
  if (text.length <= maxLength) return text
  return `${text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
