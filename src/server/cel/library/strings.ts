/** String functions: the standard ones, version 2 of cel-go's extension, and Kubernetes' regular expression functions. */
import { RE2JS } from 're2js'
import { CelFailure, fail, type Meter } from '../failures.ts'
import { global, type Implementation, type Library, member, type Overload } from '../functions.ts'
import { boolType, type CelType, dynType, intType, listOf, stringType } from '../types.ts'
import { ArrayList, type CelList, type CelValue } from '../values.ts'
import { formatText } from './format.ts'

type TextFunction = (args: readonly string[], meter: Meter) => CelValue

/** A method of strings whose arguments are strings. */
const onTexts = (id: string, count: number, result: CelType, run: TextFunction): Overload =>
  member(id, Array<CelType>(count).fill(stringType), result, (args, meter) => run(args as string[], meter))

/** The code points of a string. A string without surrogates is returned unchanged. */
function runesOf(text: string, meter: Meter): readonly string[] | string {
  meter.work(text.length / 10)
  return /[\ud800-\udfff]/.test(text) ? [...text] : text
}

const textOf = (runes: readonly string[] | string): string => (typeof runes === 'string' ? runes : runes.join(''))
const outOfRange = (index: CelValue): never => fail(`index out of range: ${index as bigint}`)

function charAt([text, index]: readonly CelValue[], meter: Meter): string {
  const runes = runesOf(text as string, meter)
  const at = Number(index as bigint)
  if (at < 0 || at > runes.length) return outOfRange(index!)
  return runes[at] ?? ''
}

function substring([text, from, to]: readonly CelValue[], meter: Meter): string {
  const runes = runesOf(text as string, meter)
  if (to !== undefined && (from as bigint) > (to as bigint)) {
    return fail(`invalid substring range. start: ${from as bigint}, end: ${to as bigint}`)
  }
  for (const index of to === undefined ? [from!] : [from!, to]) {
    if ((index as bigint) < 0n || (index as bigint) > BigInt(runes.length)) return outOfRange(index)
  }
  return textOf(runes.slice(Number(from), to === undefined ? undefined : Number(to)))
}

/** Converts a UTF-16 index to a code point index. */
function positionIn(text: string, unit: number, meter: Meter): bigint {
  if (unit < 0) return -1n
  return BigInt(runesOf(text.slice(0, unit), meter).length)
}

function unitAt(text: string, runes: number, meter: Meter): number {
  const split = runesOf(text, meter)
  return typeof split === 'string' ? runes : textOf(split.slice(0, runes)).length
}

function indexOf([text, part, from = 0n]: readonly CelValue[], meter: Meter): bigint {
  const [whole, sought, offset] = [text as string, part as string, from as bigint]
  if (sought === '') return offset
  if (offset < 0n) return outOfRange(offset)
  meter.work(whole.length / 20)
  if (offset >= BigInt(whole.length)) return -1n
  return positionIn(whole, whole.indexOf(sought, unitAt(whole, Number(offset), meter)), meter)
}

function lastIndexOf([text, part, from]: readonly CelValue[], meter: Meter): bigint {
  const [whole, sought] = [text as string, part as string]
  const length = BigInt(runesOf(whole, meter).length)
  if (sought === '') return from === undefined ? length : (from as bigint)
  const offset = (from as bigint | undefined) ?? length - 1n
  if (from === undefined && whole.length < sought.length) return -1n
  if (offset < 0n) return outOfRange(offset)
  if (offset >= length) return -1n
  meter.work(whole.length / 20)
  return positionIn(whole, whole.lastIndexOf(sought, unitAt(whole, Number(offset), meter)), meter)
}

/** Computes the result length first: inserting a string into each gap of another can exceed any memory. */
function replace([text, old, by, limit = -1n]: readonly CelValue[], meter: Meter): string {
  const [whole, sought, replacement] = [text as string, old as string, by as string]
  if (limit === 0n || sought === replacement) return whole
  const gaps = sought === '' ? whole.length + 1 : countOf(whole, sought)
  const count = (limit as bigint) < 0n ? gaps : Math.min(gaps, Number(limit))
  meter.work((whole.length + count * replacement.length) / 10)
  if (sought === '') return intersperse([...whole], replacement, count)
  const parts = whole.split(sought)
  const kept = parts.slice(0, count + 1).join(replacement)
  return parts.length > count + 1 ? `${kept}${sought}${parts.slice(count + 1).join(sought)}` : kept
}

function countOf(text: string, part: string): number {
  let count = 0
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count += 1
  return count
}

function intersperse(runes: readonly string[], text: string, count: number): string {
  const result: string[] = []
  for (let index = 0; index <= runes.length; index += 1) {
    if (index < count) result.push(text)
    if (index < runes.length) result.push(runes[index]!)
  }
  return result.join('')
}

function split([text, separator, limit = -1n]: readonly CelValue[], meter: Meter): ArrayList {
  const [whole, by, most] = [text as string, separator as string, limit as bigint]
  if (most === 0n) return new ArrayList([])
  meter.work(whole.length / 4)
  const parts = by === '' ? [...whole] : whole.split(by)
  if (most < 0n || BigInt(parts.length) <= most) return new ArrayList(parts)
  const count = Number(most) - 1
  return new ArrayList([...parts.slice(0, count), parts.slice(count).join(by)])
}

function join([list, separator = '']: readonly CelValue[], meter: Meter): string {
  const items = (list as CelList).toArray()
  let length = 0
  for (const item of items) {
    if (typeof item !== 'string') return fail(`join: invalid input: ${String(item)}`)
    length += item.length + (separator as string).length
  }
  meter.work(items.length + length / 20)
  return items.join(separator as string)
}

/** White space as defined by Go, a subset of JavaScript's. */
const whiteSpace = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/

/** Trims character by character, since a regular expression for the end would be tried at every run of blanks. */
function trim(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && whiteSpace.test(text[start]!)) start += 1
  while (end > start && whiteSpace.test(text[end - 1]!)) end -= 1
  return text.slice(start, end)
}

/** Compiled patterns, cached because the same rules run for every object. */
const patterns = new Map<string, RE2JS>()
const maxPatterns = 500

/** RE2 compiles and matches in linear time, which matters because clients choose both patterns and texts. */
export function compileCelPattern(pattern: string, meter?: Meter): RE2JS {
  const known = patterns.get(pattern)
  if (known) return known
  // Compilation is the most expensive part of a rule, and cel-go's cost for it is far too low.
  meter?.work(pattern.length * 100)
  const compiled = compilePatternOrFail(pattern)
  if (patterns.size >= maxPatterns) patterns.clear()
  patterns.set(pattern, compiled)
  return compiled
}

function compilePatternOrFail(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    throw new CelFailure((error as Error).message)
  }
}

/** Each step of the automaton visits every active state. */
const matchWork = (text: string, pattern: string): number => ((text.length + 1) * Math.min(pattern.length, 50)) / 4

const matches: Implementation = ([text, pattern], meter) => {
  const compiled = compileCelPattern(pattern as string, meter)
  meter.work(matchWork(text as string, pattern as string))
  return compiled.matcher(text as string).find()
}

function find([text, pattern]: readonly CelValue[], meter: Meter): string {
  const matcher = compileCelPattern(pattern as string, meter).matcher(text as string)
  meter.work(matchWork(text as string, pattern as string))
  return matcher.find() ? (matcher.group() ?? '') : ''
}

function findAll([text, pattern, limit = -1n]: readonly CelValue[], meter: Meter): ArrayList {
  const matcher = compileCelPattern(pattern as string, meter).matcher(text as string)
  const found: string[] = []
  meter.work(matchWork(text as string, pattern as string))
  while ((limit as bigint) < 0n || BigInt(found.length) < (limit as bigint)) {
    if (!matcher.find()) break
    found.push(matcher.group() ?? '')
  }
  return new ArrayList(found)
}

const quotes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
}

export const strings: Library = {
  contains: [
    onTexts('contains_string', 2, boolType, ([text, part], meter) => {
      meter.work(text!.length / 50)
      return text!.includes(part!)
    }),
  ],
  endsWith: [onTexts('ends_with_string', 2, boolType, ([text, part]) => text!.endsWith(part!))],
  startsWith: [onTexts('starts_with_string', 2, boolType, ([text, part]) => text!.startsWith(part!))],
  matches: [
    global('matches', [stringType, stringType], boolType, matches),
    member('matches_string', [stringType, stringType], boolType, matches),
  ],
  find: [member('string_find_string', [stringType, stringType], stringType, find)],
  findAll: [
    member('string_find_all_string', [stringType, stringType], listOf(stringType), findAll),
    member('string_find_all_string_int', [stringType, stringType, intType], listOf(stringType), findAll),
  ],
  charAt: [member('string_char_at_int', [stringType, intType], stringType, charAt)],
  indexOf: [
    member('string_index_of_string', [stringType, stringType], intType, indexOf),
    member('string_index_of_string_int', [stringType, stringType, intType], intType, indexOf),
  ],
  lastIndexOf: [
    member('string_last_index_of_string', [stringType, stringType], intType, lastIndexOf),
    member('string_last_index_of_string_int', [stringType, stringType, intType], intType, lastIndexOf),
  ],
  lowerAscii: [
    onTexts('string_lower_ascii', 1, stringType, ([text]) => text!.replace(/[A-Z]+/g, (part) => part.toLowerCase())),
  ],
  upperAscii: [
    onTexts('string_upper_ascii', 1, stringType, ([text]) => text!.replace(/[a-z]+/g, (part) => part.toUpperCase())),
  ],
  replace: [
    member('string_replace_string_string', [stringType, stringType, stringType], stringType, replace),
    member('string_replace_string_string_int', [stringType, stringType, stringType, intType], stringType, replace),
  ],
  split: [
    member('string_split_string', [stringType, stringType], listOf(stringType), split),
    member('string_split_string_int', [stringType, stringType, intType], listOf(stringType), split),
  ],
  substring: [
    member('string_substring_int', [stringType, intType], stringType, substring),
    member('string_substring_int_int', [stringType, intType, intType], stringType, substring),
  ],
  trim: [onTexts('string_trim', 1, stringType, ([text]) => trim(text!))],
  join: [
    member('list_join', [listOf(stringType)], stringType, join),
    member('list_join_string', [listOf(stringType), stringType], stringType, join),
  ],
  format: [
    member('string_format', [stringType, listOf(dynType)], stringType, ([text, args], meter) =>
      formatText(text as string, (args as CelList).toArray(), meter),
    ),
  ],
  'strings.quote': [
    global('strings_quote', [stringType], stringType, ([text], meter) => {
      meter.work((text as string).length / 4)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches the control characters to escape
      return `"${(text as string).replace(/[\x07\b\f\n\r\t\v\\"]/g, (character) => quotes[character]!)}"`
    }),
  ],
}
