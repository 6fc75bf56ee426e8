/**
 * Formats values and errors of any type for log lines. Never throws, always terminates, and limits the length. Called by
 * formats.ts.
 */
import { KopfError } from '../../errors.ts'
import { ownCode } from '../process/package-files.ts'

const maxTextLength = 64 * 1024
const maxDepth = 8
const maxEntries = 100
const maxNodes = 2000
const maxErrors = 6

/**
 * Characters that could end the line or change how a terminal shows it: C0 and C1 controls except tab, line and paragraph separators,
 * marks of direction, and unpaired surrogates, which cannot be encoded.
 */
const unsafe =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
  /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r' }

/** Matches nearly all text, faster than searching for unsafe characters. */
const printable = /^[\t -~]*$/
const printableJson = /^[ !#-[\]-~]*$/

/** Escapes unsafe characters, so that text from outside cannot forge a log line. */
export function toSafeLine(text: string): string {
  if (printable.test(text)) return text
  return text.replace(unsafe, (character) => shortEscapes[character] ?? toEscape(character))
}

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** A JSON string with all unsafe characters escaped, also those that JSON allows unescaped. */
function toJsonString(text: string): string {
  return printableJson.test(text) ? `"${text}"` : JSON.stringify(text).replace(unsafe, toEscape)
}

/** Truncates with a note of the missing length, without splitting a surrogate pair. */
export function cutText(text: string, maxLength: number = maxTextLength): string {
  if (text.length <= maxLength) return text
  const isSplit = maxLength > 0 && /[\ud800-\udbff]/.test(text[maxLength - 1]!)
  const kept = text.slice(0, isSplit ? maxLength - 1 : maxLength)
  return `${kept}… (${text.length - kept.length} more characters)`
}

/** `String(value)`, which never throws. */
export function toText(value: unknown): string {
  try {
    return String(value)
  } catch {
    return '[unreadable]'
  }
}

/** JSON text of any value, also with cycles, throwing getters, bigints, functions and deep nesting. */
export function toJsonLine(value: unknown, maxLength: number = maxTextLength): string {
  return write(value, { nodes: maxNodes, characters: maxLength, ancestors: [] })
}

interface TextWriter {
  /** Remaining number of values. */
  nodes: number
  /** Remaining number of characters in strings. */
  characters: number
  /** The containers being written; at most `maxDepth`, which also limits the recursion. */
  readonly ancestors: object[]
}

function write(value: unknown, writing: TextWriter): string {
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

function writeString(text: string, writing: TextWriter): string {
  const cut = cutText(text, Math.max(0, writing.characters))
  writing.characters -= cut.length
  return toJsonString(cut)
}

function writeObject(value: object, writing: TextWriter): string {
  if (writing.ancestors.includes(value)) return '"[circular]"'
  if (writing.ancestors.length >= maxDepth || writing.nodes <= 0) return '"[…]"'
  writing.ancestors.push(value)
  try {
    return writeContents(value, writing)
  } catch {
    return '"[unreadable]"'
  } finally {
    writing.ancestors.pop()
  }
}

function writeContents(value: object, writing: TextWriter): string {
  if (value instanceof Error) return writeString(toHeadline(value), writing)
  if (Array.isArray(value)) return writeList(value, writing)
  if (value instanceof Set) return writeList([...value], writing)
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return write(toJSON.call(value), writing)
  return writeEntries(value instanceof Map ? [...value] : Object.entries(value), writing)
}

function writeList(items: readonly unknown[], writing: TextWriter): string {
  const written = items.slice(0, maxEntries).map((item) => write(item, writing))
  if (items.length > maxEntries) written.push(`"… (${items.length - maxEntries} more)"`)
  return `[${written.join(',')}]`
}

function writeEntries(all: ReadonlyArray<readonly [unknown, unknown]>, writing: TextWriter): string {
  const entries = all.filter(([, value]) => value !== undefined)
  const written = entries.slice(0, maxEntries).map(([key, value]) => {
    return `${writeString(toText(key), writing)}:${write(value, writing)}`
  })
  if (entries.length > maxEntries) written.push(`"…":"${entries.length - maxEntries} more"`)
  return `{${written.join(',')}}`
}

/** `instanceof Error`, which may throw for a proxy. */
export function isError(value: unknown): value is Error {
  try {
    return value instanceof Error
  } catch {
    return false
  }
}

/** Whether the message of the error is enough; for unexpected errors the stack is logged too. */
export function isExpected(error: unknown): boolean {
  return error instanceof KopfError
}

function toHeadline(error: Error): string {
  const name = toText(error.name)
  const message = toText(error.message)
  return message === '' ? name : `${name}: ${message}`
}

/** The name, message and stack of an error and its causes, on several lines. */
export function toErrorText(error: Error): string {
  return toLines(error, () => true)
}

/** As `toErrorText`, without the stack frames of this package and of Node. */
export function toUserErrorText(error: Error): string {
  return toLines(error, (frame) => !frame.includes(ownCode()) && !/\(?node:/.test(frame))
}

function toLines(error: Error, isShown: (frame: string) => boolean): string {
  const seen = new Set<Error>([error])
  const texts: string[] = []
  for (const one of seen) {
    try {
      texts.push(
        `${texts.length === 0 ? '' : 'Caused by: '}${toSafeLine(cutText(toHeadline(one)))}${toFrames(one, isShown)}`,
      )
      const { cause, errors } = one as { cause?: unknown; errors?: unknown }
      const reasons = [cause, ...(Array.isArray(errors) ? errors.slice(0, maxErrors) : [])]
      for (const reason of reasons) if (reason instanceof Error && seen.size < maxErrors) seen.add(reason)
    } catch {
      texts.push('[unreadable]')
    }
  }
  return texts.join('\n')
}

/** The frames of the stack after the message, which may contain lines that look like frames. */
function toFrames(error: Error, isShown: (frame: string) => boolean): string {
  const stack = typeof error.stack === 'string' ? cutText(error.stack) : ''
  const message = toText(error.message)
  const start = stack.indexOf(message)
  const lines = (start < 0 ? stack : stack.slice(start + message.length)).split('\n')
  const frames = lines.filter((line) => /^ +at /.test(line) && isShown(line))
  return frames.map((line) => `\n${toSafeLine(line)}`).join('')
}
