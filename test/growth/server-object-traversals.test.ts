/**
 * Each traversal of an object in the embedded API server takes time in proportion to its depth, and does not recurse: it accepts 10,000
 * levels, and the author of an object decides. Each traversal has a row in the table.
 */
import { ApiServer } from 'kopf/server'
import { beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject, KubeObject } from '../../src/kube/objects.ts'
import { builtinFieldTypes } from '../../src/server/builtins/types.ts'
import { isEqual } from '../../src/server/cel/equality.ts'
import { Meter, WorkBudget } from '../../src/server/cel/failures.ts'
import { toDynamic } from '../../src/server/cel/request-values.ts'
import { findDuplicateFields, isTooDeep, parseJsonText } from '../../src/server/json-text.ts'
import { applyConfiguration } from '../../src/server/ownership/apply.ts'
import { compareObjects } from '../../src/server/ownership/compare.ts'
import {
  difference,
  type FieldSet,
  intersection,
  parseFieldSet,
  placesOf,
  recursiveDifference,
  union,
} from '../../src/server/ownership/field-set.ts'
import { fieldsOf } from '../../src/server/ownership/fields-of.ts'
import { merge } from '../../src/server/ownership/merge.ts'
import { createOwnership } from '../../src/server/ownership/ownership.ts'
import { removeFields } from '../../src/server/ownership/remove.ts'
import { trackWrite } from '../../src/server/ownership/track.ts'
import { checkFields } from '../../src/server/ownership/validate.ts'
import { fieldsOfWhole } from '../../src/server/ownership/whole-fields.ts'
import { applyJsonOperations, applyMerge } from '../../src/server/patch-dialect.ts'
import { printGo } from '../../src/server/strategic/go-values.ts'
import { cloneJson } from '../../src/util/json/deep-equal.ts'
import type { Json } from '../../src/util/json/json.ts'
import { toJsonText } from '../../src/util/json/json-text.ts'
import { formatYaml } from '../../src/util/yaml.ts'
import { anything, crd, crdsPath } from '../support/crds.ts'
import { expectLinearGrowth } from '../support/growth.ts'
import { ask } from '../support/in-process.ts'

/** Nested objects, each with one more field beside the next level. */
function ladder(levels: number, value: string): JsonObject {
  let inner: JsonObject = { x: value }
  for (let level = 1; level < levels; level += 1) inner = { a: inner, x: value }
  return inner
}

function widget(spec: JsonObject): KubeObject {
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'default' }, spec }
}

const type = builtinFieldTypes.custom(anything as JsonObject)
const stringType = builtinFieldTypes.custom({ type: 'object', properties: { spec: { type: 'string' } } })
const ownership = createOwnership({ apiVersion: 'example.com/v1', type: () => type, resets: () => undefined })('')
const empty = widget({})

interface States {
  readonly old: KubeObject
  readonly now: KubeObject
  readonly text: string
  readonly fields: FieldSet
  /** The fields of the upper half of the levels. */
  readonly some: FieldSet
}

/** The states by size, created once, since no traversal changes them. */
const made = new Map<number, States>()

function statesOf(levels: number): States {
  const known = made.get(levels)
  if (known !== undefined) return known
  const [old, now] = [widget(ladder(levels - 1, 'x')), widget(ladder(levels - 1, 'y'))]
  const some = fieldsOf(type, asJson(widget(ladder(levels / 2, 'x'))))
  const states = { old, now, text: toJsonText(now), fields: fieldsOf(type, asJson(now)), some }
  made.set(levels, states)
  return states
}

const asJson = (object: KubeObject) => object as unknown as Json

function write(old: KubeObject, object: KubeObject, manager: string): KubeObject {
  const written = cloneJson(asJson(object)) as unknown as KubeObject
  trackWrite(ownership, { old, object: written, manager, now: '2026-01-01T00:00:00Z' })
  return { ...written, metadata: { ...written.metadata, uid: 'u' } }
}

function apply(live: KubeObject, config: KubeObject, force: boolean): unknown {
  const application = { live, config: config as unknown as JsonObject, manager: 'b', force, now: '', empty }
  return applyConfiguration(ownership, application)
}

const walks: Readonly<Record<string, (states: States) => unknown>> = {
  'finding duplicate fields in a text without any': ({ text }) => findDuplicateFields(text, parseJsonText(text)),
  'finding duplicate fields in a text': ({ text }) =>
    expect(findDuplicateFields(`{"a":1,"a":2,"b":${text}}`)).toHaveLength(1),
  'checking whether a value is too deep': ({ now }) => isTooDeep(now),
  'listing all fields of a new value': ({ now }) => fieldsOfWhole(type, asJson(now)),
  'listing all fields of a configuration': ({ now }) => fieldsOf(type, asJson(now)),
  'comparing two states': ({ old, now }) => compareObjects(type, old, now),
  'uniting two field sets': ({ fields, some }) => union(fields, some),
  'uniting two field sets in the other order': ({ fields, some }) => union(some, fields),
  'subtracting a field set': ({ fields, some }) => difference(fields, some),
  'subtracting a field set recursively': ({ fields, some }) => recursiveDifference(fields, some),
  'intersecting two field sets': ({ fields, some }) => intersection(fields, some),
  'parsing a field set': ({ fields }) => parseFieldSet(fields),
  'listing the paths of a field set': ({ fields }) => [...placesOf(fields)].length,
  'checking the type of a configuration': ({ now }) => checkFields(type, asJson(now)),
  'refusing a configuration of another type': ({ now }) =>
    expect(() => checkFields(stringType, asJson(now))).toThrow('expected string'),
  'merging a configuration': ({ old, now }) => merge(type, asJson(old), asJson(now)),
  'removing fields': ({ now, some }) => removeFields(type, asJson(now), some),
  'tracking the manager of a new object': ({ now }) => write(empty, now, 'a'),
  'tracking the manager of a change': ({ old, now }) => write(write(empty, old, 'a'), now, 'b'),
  'applying a configuration by force': ({ old, now }) => apply(write(empty, old, 'a'), now, true),
  'applying a configuration that conflicts': ({ old, now }) =>
    expect(() => apply(write(empty, old, 'a'), now, false)).toThrow(/^Apply failed with \d+ conflicts/),
  'applying a merge patch': ({ old, now }) => applyMerge(asJson(old) as JsonObject, asJson(now) as JsonObject),
  'applying a JSON patch': ({ old, now }) =>
    applyJsonOperations(asJson(old), [{ op: 'replace', path: '/spec', value: asJson(now) }]),
  'printing a value as Go does': ({ now }) => printGo(asJson(now)),
  'writing YAML': ({ now }) => formatYaml(now),
  'comparing two objects in CEL': ({ now }) =>
    expect(isEqual(toDynamic(now), toDynamic(cloneJson(asJson(now))), new Meter(1e9, new WorkBudget()))).toBe(true),
}

test.each(Object.entries(walks))('the time of %s grows linearly with the depth', async (_, walk) => {
  await expectLinearGrowth({
    n: 2500,
    // JSON.stringify overflows the stack between the smallest and the largest depth; our replacement is slower.
    maxRatio: 12,
    prepare: statesOf,
    run: (states) => void walk(states),
  })
})

describe('requests', () => {
  let api: ApiServer
  const path = '/apis/example.com/v1/namespaces/default/widgets'

  beforeAll(async () => {
    api = new ApiServer()
    await ask(api, 'POST', crdsPath, { body: crd({ group: 'example.com', kind: 'Widget', schema: anything }) })
  })

  const textOf = (levels: number, value: string) => toJsonText(widget(ladder(levels, value)))
  const send = async (method: string, url: string, body: string, type = 'application/json'): Promise<void> => {
    const { status, text } = await ask(api, method, url, { body, headers: { 'content-type': type } })
    expect(status, text.slice(0, 300)).toBeLessThan(300)
  }

  test('the time of writes to an object with per-field managers grows linearly with its depth', async () => {
    await expectLinearGrowth({
      n: 1000,
      maxRatio: 12,
      prepare: (n) => [textOf(n, 'x'), textOf(n, 'y'), textOf(n, 'z')],
      run: async ([created, merged, applied]) => {
        await send('POST', path, created!)
        await send('PATCH', `${path}/w`, merged!, 'application/merge-patch+json')
        await send('PATCH', `${path}/w?fieldManager=b&force=true`, applied!, 'application/apply-patch+yaml')
        await send('DELETE', `${path}/w`, '')
      },
    })
  })
})
