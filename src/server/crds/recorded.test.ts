/**
 * Compares these rules with recorded responses of a real server (1.36.3) to valid and invalid CRDs and custom resources. The
 * responses are in testdata/, one case per line: the causes of a 422 as "reason|field|message", sorted, because the real server
 * iterates maps in random order.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { systemClock } from '../../util/async/clock.ts'
import { cloneJson } from '../../util/json/deep-equal.ts'
import type { FieldError } from '../field-errors.ts'
import type { Strategy } from '../resource.ts'
import { StatusError } from '../status.ts'
import { crdDefinitionResource } from './crd-resource.ts'
import type { CustomResourceDefinition } from './definition.ts'
import { crdResources } from './resources.ts'

/** No webhook is called in these cases. */
const parts = { webhooks: undefined as never, clock: systemClock }

interface Answer {
  readonly code: number
  readonly message?: string
  readonly errors?: readonly string[]
  readonly object?: object
  readonly problems?: readonly string[]
}

function read<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`testdata/${name}.generated.json`, import.meta.url), 'utf8')) as T
}

function summarize(errors: readonly FieldError[]): string[] {
  return errors.map(({ type, field, body }) => `${type}|${field}|${body}`).sort()
}

/** The strategy's response to a create request, in the form of the recordings. */
function create({ decode, prepareForCreate, validate }: Strategy, body: KubeObject): Answer {
  try {
    const { object, problems } = decode(body)
    prepareForCreate(object)
    const errors = validate(object)
    const { metadata: _, ...rest } = object
    const outcome = errors.length > 0 ? { code: 422, errors: summarize(errors) } : { code: 201, object: rest }
    return { ...outcome, ...(problems.length > 0 ? { problems } : {}) }
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    return { code: error.code, message: error.message }
  }
}

function installed(schema: unknown): Strategy {
  const paths = { specReplicasPath: '.spec.size', statusReplicasPath: '.status.replicas' }
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schema },
    subresources: { status: {}, scale: { ...paths, labelSelectorPath: '.status.selector' } },
  }
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.crdiff.example.com' },
    spec: {
      group: 'crdiff.example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [version],
    },
  }
  const { object } = crdDefinitionResource.strategy.decode(crd)
  return crdResources(object as CustomResourceDefinition, parts)[0]!.strategy
}

describe('a definition is answered as by the real server', () => {
  const cases = read<Array<Answer & { name: string; crd: KubeObject }>>('definitions')
  test.each(cases)('$name', ({ name: _, crd, ...answer }) => {
    expect(create(crdDefinitionResource.strategy, crd)).toEqual(answer)
  })
})

describe('a custom resource is answered as by the real server', () => {
  const { schema, cases } = read<{ schema: object; cases: Array<Answer & { name: string; fields: object }> }>('objects')
  const strategy = installed(schema)
  test.each(cases)('$name', ({ name: _, fields, problems, ...answer }) => {
    const type = { apiVersion: 'crdiff.example.com/v1', kind: 'Thing' }
    const body = { ...type, metadata: { name: 'x', namespace: 'default' }, ...fields }
    const { object, problems: found, ...ours } = create(strategy, cloneJson(body))
    expect({ ...ours, ...(object ? { object: { ...object } } : {}) }).toEqual(
      answer.object ? { ...answer, object: { ...type, ...answer.object } } : answer,
    )
    if (answer.code !== 400) expect([...(found ?? [])].sort()).toEqual([...(problems ?? [])].sort())
  })
})

interface Update {
  readonly name: string
  readonly errors?: readonly string[]
  readonly generation?: number
  readonly result?: unknown
}

const updates = read<{
  crd: CustomResourceDefinition
  old: KubeObject
  updates: Array<Update & { spec: unknown; metadata?: object }>
  statuses: Array<Update & { status?: unknown }>
  crds: Array<Update & { spec: object; storedVersions?: string[] }>
}>('updates')

describe('an update of what an older schema allowed is answered as by the real server', () => {
  const { strategy } = crdResources(updates.crd, parts)[0]!
  test.each(updates.updates)('$name', ({ spec, metadata, errors, generation, result }) => {
    const old = strategy.fromStorage!(updates.old)
    const { object } = strategy.decode({ ...updates.old, metadata: { ...updates.old.metadata, ...metadata }, spec })
    strategy.prepareForUpdate(object, old)
    const found = summarize(strategy.validateUpdate(object, old))
    expect(found).toEqual(errors ?? [])
    if (!errors) expect([object.metadata.generation, object['spec']]).toEqual([generation, result])
  })
  test.each(updates.statuses)('status: $name', ({ status, errors, result }) => {
    const old = strategy.fromStorage!(updates.old)
    const changed = { ...updates.old.metadata, labels: { other: 'x' } }
    const { status: _, ...body } = { ...updates.old, metadata: changed, spec: { other: 1 } } as KubeObject
    const { object } = strategy.decode({ ...body, ...(status === undefined ? {} : { status }) } as KubeObject)
    strategy.prepareForStatusUpdate(object, old)
    expect(summarize(strategy.validateStatusUpdate(object, old))).toEqual(errors ?? [])
    if (!errors)
      expect([object['status'], object['spec'], object.metadata]).toEqual([result, old['spec'], old.metadata])
  })
})

describe('an update of a definition is answered as by the real server', () => {
  const { strategy } = crdDefinitionResource
  test.each(updates.crds)('$name', ({ spec, errors, generation, storedVersions }) => {
    const { object } = strategy.decode({ ...cloneJson(updates.crd), spec } as KubeObject)
    strategy.prepareForUpdate(object, updates.crd)
    expect(summarize(strategy.validateUpdate(object, updates.crd))).toEqual(errors ?? [])
    const { status, metadata } = object as CustomResourceDefinition
    if (!errors) expect([metadata.generation, status.storedVersions]).toEqual([generation, storedVersions])
  })
})
