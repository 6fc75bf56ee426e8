/**
 * Compares these rules with recorded responses of a real server to the manifests in tools/builtins/cases. The responses come
 * from tools/builtins/record.ts; values that differ between runs are taken from the recording.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { cloneJson } from '../../util/json/deep-equal.ts'
import { applyMergePatch } from '../../util/json/merge-patch.ts'
import type { FieldError } from '../field-errors.ts'
import type { ApiResource } from '../resource.ts'
import { badRequest, invalidObject, StatusError } from '../status.ts'
import { builtinResources } from './resources.ts'

interface Recorded {
  readonly name: string
  readonly resource: string
  readonly manifest: KubeObject
  readonly created: Answer
  readonly patch?: object
  readonly status?: boolean
  readonly updated?: Answer
}

type Answer = KubeObject & { readonly message?: string; readonly details?: { readonly causes?: unknown } }

const resources = builtinResources(() => new Date(0))

function read(file: string): Recorded[] {
  const text = readFileSync(new URL(`testdata/${file}.json`, import.meta.url), 'utf8')
  return JSON.parse(text.replace(/<(\d+) x>/g, (_, length) => 'x'.repeat(Number(length)))) as Recorded[]
}

function resourceOf(name: string): ApiResource {
  const [plural, version, group = ''] = name.split('/').reverse()
  const found = resources.find((one) => one.group === group && one.version === version && one.plural === plural)
  if (!found) throw new Error(`No resource ${name}`)
  return found
}

/** Errors name the core kind of an Event for both API groups. */
function groupOf({ group }: ApiResource): string {
  return group === 'events.k8s.io' ? '' : group
}

function refuse(resource: ApiResource, object: KubeObject, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObject(groupOf(resource), resource.kind, object.metadata.name ?? '', errors)
}

function decode(resource: ApiResource, body: KubeObject): KubeObject {
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
  const { object, problems } = resource.strategy.decode({ ...body, apiVersion, kind: resource.kind })
  if (problems.length === 0) return object
  const { kind, version } = resource
  throw badRequest(
    `${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${problems.join(', ')}`,
  )
}

/** The order of the write verbs: decode, system fields, prepare, validate. */
function create(recorded: Recorded): KubeObject {
  const resource = resourceOf(recorded.resource)
  const object = decode(resource, cloneJson(recorded.manifest))
  const { uid, creationTimestamp } = recorded.created.metadata
  if (resource.namespaced) object.metadata.namespace = 'recorded'
  Object.assign(object.metadata, { uid: uid ?? 'uid', creationTimestamp: creationTimestamp ?? '2024-01-01T00:00:00Z' })
  resource.strategy.prepareForCreate(object)
  refuse(resource, object, resource.strategy.validate(object))
  return object
}

function update(recorded: Recorded): KubeObject {
  const resource = resourceOf(recorded.resource)
  const old = freeze(cloneJson(recorded.created as KubeObject))
  const object = decode(
    resource,
    applyMergePatch(cloneJson(old) as never, recorded.patch as never) as unknown as KubeObject,
  )
  const { strategy } = resource
  if (recorded.status) {
    strategy.prepareForStatusUpdate(object, old)
    refuse(resource, object, strategy.validateStatusUpdate(object, old))
  } else {
    strategy.prepareForUpdate(object, old)
    refuse(resource, object, strategy.validateUpdate(object, old))
  }
  return object
}

/** Preparing an update must not modify the stored object. */
function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) freeze(child)
  return Object.freeze(value)
}

function attempt(run: () => KubeObject): unknown {
  try {
    return run()
  } catch (error) {
    if (error instanceof StatusError) return error.toStatus()
    throw error
  }
}

/** Removes the intended differences; each has its reason beside it. */
function comparable(answer: unknown): unknown {
  const copy = cloneJson(answer) as Answer & { spec?: Record<string, unknown>; status?: Record<string, unknown> }
  delete copy.metadata?.resourceVersion
  // This server has no controller that would remove the protection finalizers of claims and volumes.
  if (copy.metadata?.finalizers?.some((name) => /pvc?-protection$/.test(name))) delete copy.metadata.finalizers
  // Allocated addresses and ports differ between runs.
  if (copy.spec?.['clusterIP'] && copy.spec['clusterIP'] !== 'None')
    Object.assign(copy.spec, { clusterIP: 'some', clusterIPs: ['some'] })
  for (const port of (copy.spec?.['ports'] ?? []) as Array<{ nodePort?: number }>) if (port.nodePort) port.nodePort = 1
  if (copy.status?.['lastPhaseTransitionTime']) copy.status['lastPhaseTransitionTime'] = 'some'
  // The real server's diffs show its internal types.
  if (copy.message === undefined) return copy
  return JSON.parse(withoutDiff(JSON.stringify(copy)).replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'uid'))
}

function withoutDiff(text: string): string {
  return text.replace(/(?:\n|\\n)@@[^"]*?(?:\n|\\n)(?=["\]]|$|\\")/g, '').replace(/\\n@@(?:[^"\\]|\\.)*/g, '')
}

/** The fields must be in the same order as well. */
function expectAnswer(answer: unknown, recorded: Answer): void {
  expect(comparable(answer)).toEqual(comparable(recorded))
  expect(JSON.stringify(comparable(answer))).toBe(JSON.stringify(comparable(recorded)))
}

for (const file of ['pods', 'core', 'workloads', 'others']) {
  describe(`the real server's answers: ${file}`, () => {
    const table = read(file)
    test.each(table.map((recorded): [string, Recorded] => [recorded.name, recorded]))('%s', (_, recorded) => {
      expectAnswer(
        attempt(() => create(recorded)),
        recorded.created,
      )
      if (!recorded.updated) return
      expectAnswer(
        attempt(() => update(recorded)),
        recorded.updated,
      )
    })
  })
}
