/** Label and field selectors: what they say, which objects they choose, and how the server refuses those it cannot read. */
import { isPlainObject } from '../util/json.ts'
import { quote } from './field-errors.ts'
import {
  createRequirement,
  formatRequirement,
  isMet,
  type Labels,
  type Operator,
  parseRequirements,
  type Requirement,
  SelectorError,
} from './label-requirements.ts'
import type { ServedResource } from './resource.ts'
import { badRequest } from './status.ts'

export interface LabelSelector {
  /** In the language of queries, requirements sorted by key. '' also where nothing is selected. */
  readonly text: string
  /** True where everything is selected. */
  readonly isEmpty: boolean
  matches(labels: Labels): boolean
}

/** One comparison of a field selector. A field that an object has not counts as empty. */
export interface FieldRequirement {
  readonly field: string
  readonly value: string
  readonly isEqual: boolean
}

const nothing: LabelSelector = { text: '', isEmpty: false, matches: () => false }

/** Throws a SelectorError with the real server's words. */
export function parseLabelSelector(text: string): LabelSelector {
  return selectorOf(parseRequirements(text))
}

function selectorOf(requirements: readonly Requirement[]): LabelSelector {
  return {
    text: requirements.map(formatRequirement).join(','),
    isEmpty: requirements.length === 0,
    matches: (labels) => requirements.every((requirement) => isMet(requirement, labels)),
  }
}

const expressionOperators: Readonly<Record<string, Operator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
}

/** A LabelSelector as it stands in objects, `{ matchLabels, matchExpressions }`. A missing one selects nothing, `{}` all. */
export function labelSelectorFromObject(selector: unknown): LabelSelector {
  if (!isPlainObject(selector)) return nothing
  const { matchLabels, matchExpressions } = selector
  const labels = isPlainObject(matchLabels) ? Object.entries(matchLabels) : []
  const expressions = Array.isArray(matchExpressions) ? matchExpressions : []
  const requirements = [
    ...labels.map(([key, value]) => createRequirement(key, '=', [String(value)])),
    ...expressions.map(requirementOf),
  ]
  return selectorOf(requirements.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)))
}

function requirementOf(expression: unknown): Requirement {
  const { key, operator, values } = isPlainObject(expression) ? expression : {}
  const name = String(operator ?? '')
  const known = Object.hasOwn(expressionOperators, name) ? expressionOperators[name] : undefined
  if (known === undefined) throw new SelectorError(`${quote(name)} is not a valid label selector operator`)
  return createRequirement(String(key ?? ''), known, Array.isArray(values) ? values.map(String) : [])
}

/** Throws a SelectorError with the real server's words. */
export function parseFieldSelector(text: string): FieldRequirement[] {
  const terms = splitTerms(text)
    .sort()
    .filter((term) => term !== '')
  return terms.map((term) => parseTerm(term, text))
}

/** At the commas that no backslash precedes. */
function splitTerms(text: string): string[] {
  const terms: string[] = []
  let start = 0
  for (let position = 0; position < text.length; position += 1) {
    if (text[position] === '\\') {
      position += 1
    } else if (text[position] === ',') {
      terms.push(text.slice(start, position))
      start = position + 1
    }
  }
  return [...terms, text.slice(start)]
}

function parseTerm(term: string, selector: string): FieldRequirement {
  const operator = /!=|==|=/.exec(term)
  if (operator === null) throw new SelectorError(`invalid selector: '${selector}'; can't understand '${term}'`)
  const field = term.slice(0, operator.index)
  const value = unescapeValue(term.slice(operator.index + operator[0].length))
  return { field, value, isEqual: operator[0] !== '!=' }
}

function unescapeValue(text: string): string {
  return text.replace(/\\(.?)|[,=]/gsu, (match, escaped?: string) => {
    // The real server prints the number of the character here, not the character.
    if (escaped === undefined) {
      throw new SelectorError(`invalid field selector: unescaped character in value: ${match.codePointAt(0)}`)
    }
    if (escaped === '\\' || escaped === ',' || escaped === '=') return escaped
    throw new SelectorError(`invalid field selector: invalid escape sequence: ${match}`)
  })
}

/** The selectors of a list, a watch or the deletion of a collection. Throws a 400 where one cannot be read or served. */
export function parseListSelectors(
  query: URLSearchParams,
  resource: ServedResource,
): { labels: LabelSelector; fields: FieldRequirement[] } {
  const selectors = parseSelectors(query)
  for (const { field } of selectors.fields) asBadRequest(() => checkField(field, resource))
  return selectors
}

/** The same before it is known which fields can be selected by: other options are checked between the two. */
export function parseSelectors(query: URLSearchParams): { labels: LabelSelector; fields: FieldRequirement[] } {
  return asBadRequest(() => ({
    labels: parseLabelSelector(query.get('labelSelector') ?? ''),
    fields: parseFieldSelector(query.get('fieldSelector') ?? ''),
  }))
}

function asBadRequest<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw error instanceof SelectorError ? badRequest(error.message) : error
  }
}

/**
 * Kinds that say what can be selected by, if only an empty list, are strict about `metadata.namespace` too: only where
 * there are namespaces. Custom resources always do. The others take what all objects have.
 */
function checkField(field: string, { group, kind, namespaced, strategy }: ServedResource): void {
  const names = strategy.selectableFieldNames
  if (field === 'metadata.name') return
  if (field === 'metadata.namespace' && (namespaced || names === undefined)) return
  if (names === undefined) {
    throw new SelectorError(`${quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`)
  }
  if (names.includes(field)) return
  if (group === 'batch' && kind === 'Job') throw new SelectorError(`field label ${quote(field)} not supported for Job`)
  throw new SelectorError(`field label not supported: ${field}`)
}
