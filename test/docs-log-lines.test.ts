/**
 * Compares the log lines and messages that pages quote with the texts in the source: each word of a quoted line is in a text of the framework,
 * or in a text of the sample on the page.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseAst } from 'rolldown/parseAst'
import { expect, test } from 'vitest'
import { listPages } from '../docs/.vitepress/pages.ts'

/** One line of a string or template literal. */
interface Literal {
  /** The fixed parts in lower case, between which the literal has values. */
  readonly parts: readonly string[]
  /** The longest part, for a quick first look. */
  readonly longest: string
  /** The parts, with `…` between them. */
  readonly text: string
}

const literalsOfFolder = new Map<string, Literal[]>()

function literalsUnder(folder: string): Literal[] {
  const known = literalsOfFolder.get(folder)
  if (known !== undefined) return known
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !/\.test\.ts$|generated|node_modules/.test(path))
    .map((path) => join(folder, path))
  const literals = files.flatMap((path) => literalsIn(readFileSync(path, 'utf8')))
  literalsOfFolder.set(folder, literals)
  return literals
}

/** The literals of a source text; of a fragment that does not parse, such as one side of a diff, none. */
function literalsIn(source: string): Literal[] {
  const found: string[][] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, value, quasis } = node as { type?: string; value?: unknown; quasis?: { value: { cooked: string } }[] }
    if (type === 'Literal' && typeof value === 'string') found.push([value])
    if (type === 'TemplateLiteral') found.push(quasis!.map((quasi) => quasi.value.cooked))
    for (const child of Object.values(node)) visit(child)
  }
  try {
    visit(parseAst(source, { lang: 'ts' }))
  } catch {
    return []
  }
  return found.flatMap((parts) => parts.join('\u0000').split('\n')).map((line) => toLiteral(line.split('\u0000')))
}

function toLiteral(parts: readonly string[]): Literal {
  const lower = parts.map((part) => part.toLowerCase())
  return {
    parts: lower,
    longest: lower.reduce((a, b) => (b.length > a.length ? b : a)),
    text: lower.join('…'),
  }
}

function lengthOf({ parts }: Literal): number {
  return parts.join('').trim().length
}

const escapePattern = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Whether the whole line is this text with values, possibly followed by fields: `Starting engine="postgres"`. */
function isWhole(line: string, literal: Literal): boolean {
  const lower = line.toLowerCase()
  if (lengthOf(literal) === 0 || !lower.includes(literal.longest)) return false
  return new RegExp(`^${literal.parts.map(escapePattern).join('.*')}(?: \\w+=.*)?$`).test(lower)
}

/** The pattern of texts from which a line is an extract, with `…` for what is left out. */
function toExtractPattern(line: string): RegExp {
  return new RegExp(
    line
      .toLowerCase()
      .split('…')
      .map((piece) => escapePattern(piece.trim()))
      .join('.*'),
  )
}

/** The first word, which is composed from the type of the handler. */
const subjectWord = /^(?:Handler|Daemon|Timer|Reconciler|Activity|Indexer)(?= ['"…])/

/** Values in a line: names in quotes, lists in brackets, objects. */
const values = /'[^']*'|"[^"]*"|<[^>]*>|\[[^\]]*\]|\{.*\}/g

/** The words of a line that are in none of the texts of which it can be composed. One of the texts must be long enough not to match by chance. */
function unknownWords(line: string, literals: readonly Literal[]): string[] {
  const lower = line.toLowerCase()
  const known = new Set<number>()
  let isAnchored = false
  for (const literal of literals) {
    if (literal.longest.length < 3 || !lower.includes(literal.longest)) continue
    const places = placesIn(lower, literal)
    isAnchored ||= places.length > 0 && lengthOf(literal) >= 8
    for (const { start, end } of places) for (let index = start; index < end; index++) known.add(index)
  }
  const masked = line
    .replace(subjectWord, (word) => '#'.repeat(word.length))
    .replaceAll(values, (value) => '#'.repeat(value.length))
  // A capitalised word within a sentence is the name of a kind or class.
  const words = [...masked.matchAll(/(?<=^|[ (])(?:(?<=^|\. )[A-Z]|[a-z])[a-z]{2,}(?=[,.:;!?)]*(?: |$))/g)]
  if (!isAnchored) return words.map(([word]) => word)
  return (
    words
      // `replicas` of `status.replicas` is a value.
      .filter(
        ({ 0: word, index }) =>
          !line.includes(`.${word}`) &&
          !line.includes(`/${word}`) &&
          (!known.has(index) || !known.has(index + word.length - 1)),
      )
      .map(([word]) => word)
  )
}

/** Where the parts of a text are in a line, in order; empty if one of them is not there. */
function placesIn(line: string, { parts }: Literal): { start: number; end: number }[] {
  const places: { start: number; end: number }[] = []
  let at = 0
  for (const part of parts) {
    const start = line.indexOf(part, at)
    if (start < 0) return []
    at = start + part.length
    places.push({ start, end: at })
  }
  return places
}

/** Only the framework logs lines that begin like this. */
const subjects =
  /^(?:Handler|Daemon|Timer|Reconciler|Activity|Indexer|Creation|Updating|Deletion|Resuming) (?:['"…]|is processed)/

const full = /^\[\d{4}-\d\d-\d\d [\d:,.]+\] \S+ +\[[A-Z]+ *\] (?:\[\S+\] )?(.+)$/
const short = /^\d\d:\d\d:\d\d (?:DEBUG|INFO|WARN|WARNING|ERROR) +(?:[a-z0-9][\w.-]*(?:\/[\w.-]+)? {2})?(.+)$/
const plain = /^(?:\[[\w.-]+(?:\/[\w.-]+)?\]|kopf(?: dev)?:) (.+)$/
const json = /^\{"message": ("(?:[^"\\]|\\.)*")/
const sentence = /^[A-Z][a-z]+(?: ['"]?[\w…'"()-]+[,:.]?){2,}/
/** Messages of other programs: the TypeScript compiler and kubectl. */
const foreign = /^Argument of type |^The type '|^The \w+ "[^"]+" is invalid: |^Error from server|^No resources found /

/** The error of esbuild at the end of a message. */
const quotedError = /: Expected .* but found .*$/

/** The messages in blocks without a language: log lines in each format, and other sentences. */
function messagesInBlocks(page: string): string[] {
  const blocks = [...page.matchAll(/^ *```(\w*)\n(.*?)^ *```/gms)].filter(([, language]) => language === '')
  return blocks
    .flatMap(([, , text]) => text!.split('\n'))
    .flatMap((raw) => {
      const line = raw.trim()
      const inJson = json.exec(line)?.[1]
      if (inJson !== undefined) return [JSON.parse(inJson) as string]
      const message = (full.exec(line) ?? short.exec(line) ?? plain.exec(line))?.[1]
      return message !== undefined
        ? [message.replace(quotedError, '')]
        : sentence.test(line) && !foreign.test(line)
          ? [line]
          : []
    })
}

function proseOf(page: string): string {
  return page.replaceAll(/^ *```.*?^ *```/gms, '')
}

/** Messages in sentences and tables: each sentence in a code span, and quotations that only the framework can have logged. */
function messagesInProse(page: string): string[] {
  return [...proseOf(page).matchAll(/`([^`\n]+)`|"([^"\n]+)"/g)]
    .filter(([, code, quote]) => (code !== undefined && sentence.test(code)) || subjects.test((code ?? quote)!))
    .map(([, code, quote]) => (code ?? quote)!)
}

/** The texts of a page's own code: its blocks, the edits that the tutorial asks for (`would like`), and the files of its folder or the examples. */
function samplesOf(page: string, text: string): Literal[] {
  const blocks = [...text.matchAll(/^ *```(?:ts|js)\n(.*?)^ *```/gms)].flatMap(([, code]) => literalsIn(code!))
  const spans = [...proseOf(text).matchAll(/`([^`]+)`/g)].map(([, span]) => toLiteral(['', span!, '']))
  const edits = page.startsWith(join('docs', 'tutorial')) ? spans : []
  const isOfFolder = /^(?:examples|cookbook)\/\d?[^/]+\//.test(page)
  // A short text of some example would match too much.
  const files = isOfFolder
    ? literalsUnder(dirname(page))
    : literalsUnder('examples').filter((literal) => lengthOf(literal) > 5)
  return [...blocks, ...edits, ...files]
}

function problemOf(line: string, samples: readonly Literal[]): string | undefined {
  const framework = literalsUnder('src')
  if (!subjects.test(line) && samples.some((literal) => isWhole(line, literal))) return undefined
  const pattern = toExtractPattern(line)
  if (framework.some(({ text }) => text.length >= line.length / 2 && pattern.test(text))) return undefined
  const unknown = unknownWords(line, [...framework, ...samples])
  return unknown.length === 0 ? undefined : `${line} (${unknown.join(', ')})`
}

test('every log line and message that a page quotes is a message of the framework, or of the sample on the page', {
  timeout: 60_000,
}, () => {
  const problems: string[] = []
  let checked = 0
  for (const page of ['README.md', ...listPages()]) {
    const text = readFileSync(page, 'utf8')
    const messages = [...new Set([...messagesInBlocks(text), ...messagesInProse(text)])]
    const samples = messages.length === 0 ? [] : samplesOf(page, text)
    checked += messages.length
    problems.push(
      ...messages
        .map((line) => problemOf(line, samples))
        .flatMap((problem) => (problem === undefined ? [] : [`${page}: ${problem}`])),
    )
  }
  expect(problems).toEqual([])
  expect(checked).toBeGreaterThan(200)
})

test('a log of several lines has the time and the level, as at a terminal', () => {
  const pages = ['README.md', ...listPages()].filter((page) => !page.startsWith(join('docs', 'decisions')))
  const problems = pages.flatMap((page) => {
    const blocks = [...readFileSync(page, 'utf8').matchAll(/^ *```(\w*)\n(.*?)^ *```/gms)]
    const logs = blocks.filter(
      ([, language, text]) => language === '' && [...text!.matchAll(/^\[[\w./-]+\] /gm)].length > 1,
    )
    return logs.map(([, , text]) => `${page}: ${text!.split('\n')[0]}`)
  })
  expect(problems).toEqual([])
})

test.each([
  'Pausing work in favour of [<Peer …>].',
  "Timer 'x': what it wanted to change could not be saved: …",
  'What a daemon or a timer wanted to change could not be written',
  "Handler 'create' is done.",
])('the comparison of quoted messages finds that %j is not logged', (line) => {
  expect(problemOf(line, [])).toBeDefined()
})
