/** Label and field selectors: parsing, matching, and the errors for invalid ones. */
import { isPlainObject } from '../util/json/json.ts'
import { quote } from './field-errors.ts'
import {
  createRequirement,
  formatRequirement,
  isMet,
  type LabelRequirement,
  type Labels,
  parseRequirements,
  SelectorError,
  type SelectorOperator,
} from './label-requirements.ts'
import type { ApiResource } from './resource.ts'
import { badRequest } from './status.ts'

export interface ParsedLabelSelector {
  /** The selector as in a query, with requirements sorted by key; also '' if nothing is selected. */
  readonly text: string
  /** True if everything is selected. */
  readonly isEmpty: boolean
  matches(labels: Labels): boolean
}

/** One comparison of a field selector. A missing field counts as empty. */
export interface FieldRequirement {
  readonly field: string
  readonly value: string
  readonly isEqual: boolean
}

const nothing: ParsedLabelSelector = { text: '', isEmpty: false, matches: () => false }

/** Throws a SelectorError with kube-apiserver's message. */
export function parseLabelSelector(text: string): ParsedLabelSelector {
  return selectorOf(parseRequirements(text))
}

function selectorOf(requirements: readonly LabelRequirement[]): ParsedLabelSelector {
  return {
    text: requirements.map(formatRequirement).join(','),
    isEmpty: requirements.length === 0,
    matches: (labels) => requirements.every((requirement) => isMet(requirement, labels)),
  }
}

const expressionOperators: Readonly<Record<string, SelectorOperator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
}

/** Parses a LabelSelector of an object, `{ matchLabels, matchExpressions }`. A missing one selects nothing, `{}` everything. */
export function labelSelectorFromObject(selector: unknown): ParsedLabelSelector {
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

function requirementOf(expression: unknown): LabelRequirement {
  const { key, operator, values } = isPlainObject(expression) ? expression : {}
  const name = String(operator ?? '')
  const known = Object.hasOwn(expressionOperators, name) ? expressionOperators[name] : undefined
  if (known === undefined) throw new SelectorError(`${quote(name)} is not a valid label selector operator`)
  return createRequirement(String(key ?? ''), known, Array.isArray(values) ? values.map(String) : [])
}

/** Throws a SelectorError with kube-apiserver's message. */
export function parseFieldSelector(text: string): FieldRequirement[] {
  const terms = splitTerms(text)
    .sort()
    .filter((term) => term !== '')
  return terms.map((term) => parseTerm(term, text))
}

/** Splits at commas without a backslash before them. */
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
    // kube-apiserver prints the character's number here, not the character.
    if (escaped === undefined) {
      throw new SelectorError(`invalid field selector: unescaped character in value: ${match.codePointAt(0)}`)
    }
    if (escaped === '\\' || escaped === ',' || escaped === '=') return escaped
    throw new SelectorError(`invalid field selector: invalid escape sequence: ${match}`)
  })
}

/** Parses the selectors of a list, a watch or a deletecollection. Throws 400 for an invalid selector or an unsupported field. */
export function parseListSelectors(
  query: URLSearchParams,
  resource: ApiResource,
): { labels: ParsedLabelSelector; fields: FieldRequirement[] } {
  const selectors = parseSelectors(query)
  for (const { field } of selectors.fields) asBadRequest(() => checkField(field, resource))
  return selectors
}

/** Parses the selectors without checking field names, because kube-apiserver checks other options in between. */
export function parseSelectors(query: URLSearchParams): { labels: ParsedLabelSelector; fields: FieldRequirement[] } {
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
 * Kinds with a list of selectable fields (all custom resources have one, possibly empty) accept `metadata.namespace` only if
 * namespaced. Other kinds accept both metadata fields.
 */
function checkField(field: string, { group, kind, namespaced, strategy }: ApiResource): void {
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
