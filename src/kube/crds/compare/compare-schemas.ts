/**
 * Compares the OpenAPI schemas of one version of two CRDs, field by field. Called by compare-crds.ts; schema-keywords.ts judges the keywords. The cost is
 * linear in the size of the schemas, and the walk does not recurse: the API server accepts schemas of thousands of levels. Pure.
 */
import { isDeepEqual } from '../../../util/json/deep-equal.ts'
import { getObject, getObjects, getString, getStrings, isPlainObject, type Json } from '../../../util/json/json.ts'
import { toJsonText } from '../../../util/json/json-text.ts'
import { cutText } from '../../../util/log/error-text.ts'
import { breaking, type CrdDifference, compatible, type Judgement } from './crd-difference.ts'
import { judgeDefault, judgeKeyword, keywordOf } from './schema-keywords.ts'

type SchemaFields = { readonly [key: string]: Json }

/** The schemas of one field before and after. */
interface SchemaPair {
  readonly path: string
  readonly before: SchemaFields
  readonly after: SchemaFields
  /** The field is required after, and was not before. */
  readonly isNewlyRequired?: boolean
}

/** Keywords that are compared together with others, not one by one. */
const structure: ReadonlySet<string> = new Set([
  'type',
  'x-kubernetes-int-or-string',
  'properties',
  'additionalProperties',
  'items',
  'required',
  'enum',
  'default',
  'x-kubernetes-validations',
])

/** Every object has these fields, whether the schema names them or not. */
const objectFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

export function compareSchemas(version: string, before: SchemaFields, after: SchemaFields): CrdDifference[] {
  const comparison = new SchemaComparison(version)
  comparison.run({ path: '', before, after })
  return comparison.found
}

class SchemaComparison {
  readonly found: CrdDifference[] = []
  readonly #version: string
  readonly #pending: SchemaPair[] = []

  constructor(version: string) {
    this.#version = version
  }

  run(root: SchemaPair): void {
    this.#pending.push(root)
    for (let pair = this.#pending.pop(); pair !== undefined; pair = this.#pending.pop()) {
      // The constraints of another type say nothing about the values of this type.
      if (!this.#compareTypes(pair)) continue
      this.#compareKeywords(pair)
      this.#compareEnums(pair)
      this.#compareRules(pair)
      this.#compareRequired(pair)
      this.#compareChildren(pair)
    }
  }

  #report(path: string, property: string, judgement: Judgement, values: Partial<CrdDifference> = {}): void {
    this.found.push({ version: this.#version, path, property, ...judgement, ...values })
  }

  /** Returns whether values of the old types are still accepted. */
  #compareTypes({ path, before, after }: SchemaPair): boolean {
    const [old, current] = [typesOf(before), typesOf(after)]
    const isKept = current === undefined || old?.every((type) => current.includes(type)) === true
    const values = { before: typeName(before), after: typeName(after) }
    if (!isKept) this.#report(path, 'type', breaking('values of the old type are refused'), values)
    else if (values.before !== values.after)
      this.#report(path, 'type', compatible('values of more types are accepted'), values)
    return isKept
  }

  #compareKeywords({ path, before, after, isNewlyRequired = false }: SchemaPair): void {
    for (const keyword of keysOf(before, after)) {
      if (structure.has(keyword)) continue
      const values = { before: keywordOf(before, keyword), after: keywordOf(after, keyword) }
      if (isDeepEqual(values.before, values.after)) continue
      this.#report(path, keyword, judgeKeyword(keyword, values.before, values.after), values)
    }
    const values = { before: keywordOf(before, 'default'), after: keywordOf(after, 'default') }
    if (isDeepEqual(values.before, values.after)) return
    this.#report(path, 'default', judgeDefault(values.before, values.after, isNewlyRequired), values)
  }

  #compareEnums({ path, before, after }: SchemaPair): void {
    const [old, current] = [enumOf(before), enumOf(after)]
    const values = { before: before['enum'], after: after['enum'] }
    const judgement = judgeEnum(old, current)
    if (judgement !== undefined) this.#report(path, 'enum', judgement, values)
  }

  /** Rules are identified by their CEL expression. */
  #compareRules({ path, before, after }: SchemaPair): void {
    const property = 'x-kubernetes-validations'
    const [old, current] = [rulesOf(before), rulesOf(after)]
    for (const [rule, fields] of current) {
      const known = old.get(rule)
      if (known === undefined)
        this.#report(path, property, breaking('objects that violate the rule are refused'), { after: rule })
      else if (!isDeepEqual(known, fields))
        this.#report(path, property, compatible('only the message of the rule differs'), {
          before: known,
          after: fields,
        })
    }
    for (const rule of old.keys()) {
      if (!current.has(rule))
        this.#report(path, property, compatible('objects that violate the rule are accepted'), { before: rule })
    }
  }

  #compareRequired({ path, before, after }: SchemaPair): void {
    const [old, current] = [new Set(getStrings(before, 'required')), new Set(getStrings(after, 'required'))]
    for (const name of current) {
      if (old.has(name)) continue
      const hasDefault = defaultOf(after, name) !== undefined
      const judgement = hasDefault
        ? compatible('objects without the field get its default')
        : breaking('objects without the field are refused')
      this.#report(join(path, name), 'required', judgement, { before: false, after: true })
    }
    for (const name of old) {
      if (current.has(name)) continue
      const judgement = compatible('objects without the field are accepted')
      // The field itself is reported as removed.
      if (propertyOf(after, name) !== undefined || propertyOf(before, name) === undefined)
        this.#report(join(path, name), 'required', judgement, { before: true, after: false })
    }
  }

  #compareChildren(pair: SchemaPair): void {
    const children: SchemaPair[] = []
    this.#compareProperties(pair, children)
    this.#compareAdditional(pair, children)
    this.#compareItems(pair, children)
    // The last one is taken first, so that the differences are in the order of the fields.
    for (const child of children.reverse()) this.#pending.push(child)
  }

  #compareProperties({ path, before, after }: SchemaPair, children: SchemaPair[]): void {
    const old = getObject(before, 'properties') ?? {}
    const current = getObject(after, 'properties') ?? {}
    const required = { before: new Set(getStrings(before, 'required')), after: new Set(getStrings(after, 'required')) }
    for (const name of keysOf(old, current)) {
      const place = join(path, name)
      // A map with arbitrary keys has this field, too.
      const one = propertyOf(before, name) ?? getObject(before, 'additionalProperties')
      const other = propertyOf(after, name) ?? getObject(after, 'additionalProperties')
      const isNewlyRequired = required.after.has(name) && !required.before.has(name)
      if (one !== undefined && other !== undefined)
        children.push({ path: place, before: one, after: other, isNewlyRequired })
      else if (path === '' && objectFields.has(name))
        this.#report(place, 'schema', compatible('every object has this field'), { change: one ? 'removed' : 'added' })
      else if (one !== undefined) this.#report(place, 'field', judgeRemoved(after), { change: 'removed' })
      else this.#report(place, 'field', judgeAdded(before), { change: 'added' })
    }
  }

  /** The schema of the values of a map. `true` accepts any value. */
  #compareAdditional({ path, before, after }: SchemaPair, children: SchemaPair[]): void {
    const [old, current] = [before['additionalProperties'] || undefined, after['additionalProperties'] || undefined]
    if (isPlainObject(old) && isPlainObject(current)) {
      children.push({ path: cutPath(`${path}[*]`), before: old, after: current })
      return
    }
    if (isDeepEqual(old, current)) return
    const isAccepted = keepsUnknown(after) || (current !== undefined && old === undefined && !keepsUnknown(before))
    const judgement = isAccepted
      ? compatible('other keys are accepted')
      : breaking(
          current === undefined
            ? 'other keys are dropped at the next write of an object'
            : 'values that do not match it are refused',
        )
    this.#report(path, 'additionalProperties', judgement, { change: current === undefined ? 'removed' : 'added' })
  }

  #compareItems({ path, before, after }: SchemaPair, children: SchemaPair[]): void {
    const [old, current] = [getObject(before, 'items'), getObject(after, 'items')]
    if (old !== undefined && current !== undefined)
      children.push({ path: cutPath(`${path}[*]`), before: old, after: current })
    else if (current !== undefined)
      this.#report(path, 'items', breaking('items that do not match it are refused'), { change: 'added' })
    else if (old !== undefined)
      this.#report(path, 'items', compatible('items of any kind are accepted'), { change: 'removed' })
  }
}

/** Undefined if both accept the same values. `undefined` accepts all values. */
function judgeEnum(
  before: ReadonlySet<string> | undefined,
  after: ReadonlySet<string> | undefined,
): Judgement | undefined {
  if (before === undefined) return after && breaking('other values are refused')
  if (after === undefined) return compatible('other values are accepted')
  const removed = [...before].filter((value) => !after.has(value))
  const added = [...after].filter((value) => !before.has(value))
  if (removed.length > 0) return breaking(`${listed(removed)} ${removed.length === 1 ? 'is' : 'are'} refused`)
  if (added.length > 0) return compatible(`${listed(added)} ${added.length === 1 ? 'is' : 'are'} accepted`)
  return undefined
}

function judgeRemoved(after: SchemaFields): Judgement {
  return keepsUnknown(after)
    ? compatible('its values are kept, and no longer checked')
    : breaking('its values are dropped at the next write of an object')
}

function judgeAdded(before: SchemaFields): Judgement {
  return keepsUnknown(before)
    ? breaking('any value was accepted before, and is checked now')
    : compatible('objects without the field stay as they are')
}

/** Whether fields that are not in the schema are kept. */
function keepsUnknown(schema: SchemaFields): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true || schema['additionalProperties'] === true
}

function typeName(schema: SchemaFields): string | undefined {
  return schema['x-kubernetes-int-or-string'] === true ? 'integer or string' : getString(schema, 'type')
}

/** The types of accepted values; undefined for any type. A number field accepts integers. */
function typesOf(schema: SchemaFields): readonly string[] | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string']
  const type = getString(schema, 'type')
  if (type === undefined || type === '') return undefined
  return type === 'number' ? ['integer', 'number'] : [type]
}

/** The values as JSON texts. */
function enumOf(schema: SchemaFields): ReadonlySet<string> | undefined {
  const values = keywordOf(schema, 'enum')
  return Array.isArray(values) ? new Set(values.map(toJsonText)) : undefined
}

function rulesOf(schema: SchemaFields): ReadonlyMap<string, SchemaFields> {
  return new Map(getObjects(schema, 'x-kubernetes-validations').map((rule) => [String(rule['rule']), rule]))
}

function propertyOf(schema: SchemaFields, name: string): SchemaFields | undefined {
  const properties = getObject(schema, 'properties') ?? {}
  return Object.hasOwn(properties, name) ? (getObject(properties, name) ?? {}) : undefined
}

function defaultOf(schema: SchemaFields, name: string): Json | undefined {
  return keywordOf(propertyOf(schema, name) ?? {}, 'default')
}

function keysOf(before: SchemaFields, after: SchemaFields): Set<string> {
  return new Set([...Object.keys(before), ...Object.keys(after)])
}

const maxListed = 10
const maxValueLength = 60

function listed(texts: readonly string[]): string {
  const shown = texts
    .slice(0, maxListed)
    .map((text) => cutText(text, maxValueLength))
    .join(', ')
  return texts.length > maxListed ? `${shown} and ${texts.length - maxListed} more` : shown
}

/** Paths are cut at the front, so that the total length of the paths of a deep schema stays linear. */
const maxPathLength = 300

function join(path: string, name: string): string {
  const segment = /^[\w-]+$/.test(name) ? name : JSON.stringify(name)
  return cutPath(path === '' ? segment : `${path}.${segment}`)
}

function cutPath(path: string): string {
  return path.length <= maxPathLength ? path : `…${path.slice(-maxPathLength)}`
}
