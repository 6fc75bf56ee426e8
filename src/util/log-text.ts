/**
 * Values and errors as text for a log line: whatever they are, it never throws, never runs for ever, and what comes out
 * is bounded. Called by log-formats.ts.
 */
import { KopfError } from '../errors.ts'

const longestText = 64 * 1024
const deepestLevel = 8
const mostEntries = 100
const mostNodes = 2000
const mostErrors = 6

/**
 * What could end the line, move the cursor, colour or reorder what is shown: C0 and C1 controls, line and paragraph
 * separators, marks of direction; and halves of surrogate pairs, which no encoding can carry. Not the tab.
 */
const unsafe =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r' }

/** What nearly all text is, found faster than that it has nothing unsafe. */
const printable = /^[\t -~]*$/
const printableJson = /^[ !#-[\]-~]*$/

/** One line that shows what it is, and nothing a stranger could forge another line with. */
export function toSafeLine(text: string): string {
  if (printable.test(text)) return text
  return text.replace(unsafe, (character) => shortEscapes[character] ?? toEscape(character))
}

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** A JSON string, where even what JSON allows to stand as it is cannot harm a terminal. */
function toJsonString(text: string): string {
  return printableJson.test(text) ? `"${text}"` : JSON.stringify(text).replace(unsafe, toEscape)
}

/** At most so many characters, and a note of what is missing; never half a surrogate pair. */
export function cutText(text: string, longest: number = longestText): string {
  if (text.length <= longest) return text
  const isSplit = longest > 0 && /[\ud800-\udbff]/.test(text[longest - 1]!)
  const kept = text.slice(0, isSplit ? longest - 1 : longest)
  return `${kept}… (${text.length - kept.length} more characters)`
}

/** A string for anything that was given where a string was expected. */
export function toText(value: unknown): string {
  try {
    return String(value)
  } catch {
    return '[unreadable]'
  }
}

/** JSON text of any value: cycles, getters that throw, bigints, functions and bottomless nesting included. */
export function toJsonLine(value: unknown, longest: number = longestText): string {
  return write(value, { nodes: mostNodes, characters: longest, ancestors: [] })
}

interface Writing {
  /** What may still be written: values, and characters of strings. */
  nodes: number
  characters: number
  /** Its length is the depth, so this recursion is never deeper than `deepestLevel`. */
  readonly ancestors: object[]
}

function write(value: unknown, writing: Writing): string {
  writing.nodes -= 1
  switch (typeof value) {
    case 'string':
      return writeString(value, writing)
    case 'number':
      return Number.isFinite(value) ? String(value) : `"${value}"`
    case 'boolean':
    case 'bigint':
      return String(value)
    case 'undefined':
      return 'null'
    case 'object':
      return value === null ? 'null' : writeObject(value, writing)
    default:
      return toJsonString(`[${typeof value}]`)
  }
}

function writeString(text: string, writing: Writing): string {
  const cut = cutText(text, Math.max(0, writing.characters))
  writing.characters -= cut.length
  return toJsonString(cut)
}

function writeObject(value: object, writing: Writing): string {
  if (writing.ancestors.includes(value)) return '"[circular]"'
  if (writing.ancestors.length >= deepestLevel || writing.nodes <= 0) return '"[…]"'
  writing.ancestors.push(value)
  try {
    return writeContents(value, writing)
  } catch {
    return '"[unreadable]"'
  } finally {
    writing.ancestors.pop()
  }
}

function writeContents(value: object, writing: Writing): string {
  if (value instanceof Error) return writeString(toHeadline(value), writing)
  if (Array.isArray(value)) return writeList(value, writing)
  if (value instanceof Set) return writeList([...value], writing)
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return write(toJSON.call(value), writing)
  return writeEntries(value instanceof Map ? [...value] : Object.entries(value), writing)
}

function writeList(items: readonly unknown[], writing: Writing): string {
  const written = items.slice(0, mostEntries).map((item) => write(item, writing))
  if (items.length > mostEntries) written.push(`"… (${items.length - mostEntries} more)"`)
  return `[${written.join(',')}]`
}

function writeEntries(all: ReadonlyArray<readonly [unknown, unknown]>, writing: Writing): string {
  const entries = all.filter(([, value]) => value !== undefined)
  const written = entries.slice(0, mostEntries).map(([key, value]) => {
    return `${writeString(toText(key), writing)}:${write(value, writing)}`
  })
  if (entries.length > mostEntries) written.push(`"…":"${entries.length - mostEntries} more"`)
  return `{${written.join(',')}}`
}

/** What was thrown may be a proxy that throws when it is looked at. */
export function isError(value: unknown): value is Error {
  try {
    return value instanceof Error
  } catch {
    return false
  }
}

/** Errors that say all there is to say; of any other, the place where it was thrown is wanted. */
export function isExpected(error: unknown): boolean {
  return error instanceof KopfError
}

function toHeadline(error: Error): string {
  const name = toText(error.name)
  const message = toText(error.message)
  return message === '' ? name : `${name}: ${message}`
}

/** The name, the message and the stack of an error, and of those that caused it, with line breaks between. */
export function toErrorText(error: Error): string {
  const seen = new Set<Error>([error])
  const texts: string[] = []
  for (const one of seen) {
    try {
      texts.push(`${texts.length === 0 ? '' : 'Caused by: '}${toSafeLine(cutText(toHeadline(one)))}${toFrames(one)}`)
      const { cause, errors } = one as { cause?: unknown; errors?: unknown }
      const reasons = [cause, ...(Array.isArray(errors) ? errors.slice(0, mostErrors) : [])]
      for (const reason of reasons) if (reason instanceof Error && seen.size < mostErrors) seen.add(reason)
    } catch {
      texts.push('[unreadable]')
    }
  }
  return texts.join('\n')
}

/** The stack begins with the message, which may hold lines that look like frames: those of the engine come after it. */
function toFrames(error: Error): string {
  const stack = typeof error.stack === 'string' ? cutText(error.stack) : ''
  const message = toText(error.message)
  const start = stack.indexOf(message)
  const lines = (start < 0 ? stack : stack.slice(start + message.length)).split('\n')
  const frames = lines.filter((line) => /^ +at /.test(line))
  return frames.map((line) => `\n${toSafeLine(line)}`).join('')
}
