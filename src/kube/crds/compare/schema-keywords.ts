/**
 * Judges a change of one keyword of a schema: whether values that were valid stay valid. Called by compare-schemas.ts for every keyword that has no
 * schemas of fields in it. Pure.
 */
import type { Json } from '../../../util/json/json.ts'
import { breaking, compatible, type Judgement } from './crd-difference.ts'

/** Judges two values that differ. Undefined: the keyword is not there. */
type Judge = (before: Json | undefined, after: Json | undefined) => Judgement

const documentation: Judge = () => compatible('it only documents the field')

const refuses = (what: string) => breaking(`${what} are refused`)
const accepts = (what: string) => compatible(`${what} are accepted`)

/** A limit that is lowered or new refuses values that were valid. */
function upperLimit(larger: string): Judge {
  return (before = Infinity, after = Infinity) => (isAtMost(before, after) ? accepts(larger) : refuses(larger))
}

/** A limit that is raised or new refuses values that were valid. `byDefault` is the limit of a schema without the keyword. */
function lowerLimit(smaller: string, byDefault: number): Judge {
  return (before = byDefault, after = byDefault) => (isAtMost(after, before) ? accepts(smaller) : refuses(smaller))
}

function isAtMost(one: Json, other: Json): boolean {
  return (one as number) <= (other as number)
}

/** A keyword that restricts values in a way that cannot be compared: new and changed ones may refuse valid values. */
function restriction(others: string): Judge {
  return (_, after) => (after === undefined ? accepts(others) : refuses(others))
}

/** A keyword of which every change matters, with its default value. */
function fixed(byDefault: Json | undefined, reason: string): Judge {
  return (before, after) =>
    (before ?? byDefault) === (after ?? byDefault) ? compatible('this is the default') : breaking(reason)
}

/** A flag of which only `true` has a meaning. */
function flag(set: Judgement, unset: Judgement): Judge {
  return (_, after) => (after === true ? set : unset)
}

const multipleOf: Judge = (before, after) => {
  if (after === undefined) return accepts('other values')
  const isMultiple = before !== undefined && Number(before) % Number(after) === 0
  return isMultiple ? accepts('more values') : refuses('values that are no multiple of it')
}

const composition = restriction('values that do not match it')
const listType = fixed('atomic', 'lists are merged by other rules, and lists that were valid may be refused')

const keywords: Readonly<Record<string, Judge>> = {
  description: documentation,
  title: documentation,
  example: documentation,
  externalDocs: documentation,
  id: documentation,
  $schema: documentation,
  maximum: upperLimit('larger values'),
  maxLength: upperLimit('longer values'),
  maxItems: upperLimit('longer lists'),
  maxProperties: upperLimit('objects with more fields'),
  minimum: lowerLimit('smaller values', -Infinity),
  minLength: lowerLimit('shorter values', 0),
  minItems: lowerLimit('shorter lists', 0),
  minProperties: lowerLimit('objects with fewer fields', 0),
  exclusiveMaximum: flag(
    refuses('values that are equal to the maximum'),
    accepts('values that are equal to the maximum'),
  ),
  exclusiveMinimum: flag(
    refuses('values that are equal to the minimum'),
    accepts('values that are equal to the minimum'),
  ),
  multipleOf,
  pattern: restriction('values that do not match it'),
  format: restriction('values that are not of this format'),
  nullable: flag(accepts('null values'), refuses('null values')),
  uniqueItems: flag(refuses('lists with equal items'), accepts('lists with equal items')),
  allOf: composition,
  anyOf: composition,
  oneOf: composition,
  not: composition,
  'x-kubernetes-preserve-unknown-fields': flag(
    compatible('fields that are not in the schema are kept'),
    breaking('fields that are not in the schema are dropped at the next write of an object'),
  ),
  'x-kubernetes-embedded-resource': flag(
    breaking('values without a valid apiVersion, kind and metadata are refused'),
    breaking('apiVersion, kind and metadata are kept only if they are in the schema'),
  ),
  'x-kubernetes-list-type': listType,
  'x-kubernetes-list-map-keys': fixed(
    undefined,
    'lists are merged by other keys, and lists that were valid may be refused',
  ),
  'x-kubernetes-map-type': fixed('granular', 'appliers own the whole object instead of its fields, or the reverse'),
}

/** Flags of which `false` means the same as no flag, so that the API server does not return it. */
const flags: ReadonlySet<string> = new Set([
  'exclusiveMaximum',
  'exclusiveMinimum',
  'nullable',
  'uniqueItems',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
])

/** The value of a keyword, without values that mean the same as none: the API server does not return these. */
export function keywordOf(schema: { readonly [key: string]: Json }, keyword: string): Json | undefined {
  const value = Object.hasOwn(schema, keyword) ? schema[keyword] : undefined
  if (keyword === 'default') return value
  const isEmpty = value === null || value === '' || (Array.isArray(value) && value.length === 0)
  return isEmpty || (value === false && flags.has(keyword)) ? undefined : value
}

export function judgeKeyword(keyword: string, before: Json | undefined, after: Json | undefined): Judgement {
  const judge = Object.hasOwn(keywords, keyword) ? keywords[keyword]! : judgeUnknown
  return judge(before, after)
}

const judgeUnknown: Judge = () => breaking('the effect of this keyword is not known to kopf; review it')

/** Judges a default of a field that exists in both schemas. `isRequired`: the field is required only in the new schema. */
export function judgeDefault(before: Json | undefined, after: Json | undefined, isRequired: boolean): Judgement {
  if (after === undefined) return breaking('objects without the field no longer get a value')
  if (before !== undefined) return breaking('objects without the field get another value')
  return isRequired
    ? compatible('objects without the field get this value, and stay valid')
    : breaking('existing objects without the field get a value when they are read')
}
