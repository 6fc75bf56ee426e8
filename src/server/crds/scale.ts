/**
 * The scale subresource of custom resources: builds an `autoscaling/v1` Scale from three fields of the object, and applies its
 * replicas to the object. The paths consist of names separated by dots.
 */
import type { Json, JsonObject, KubeObject } from '../../kube/objects.ts'
import { cloneJson } from '../../util/json/deep-equal.ts'
import { getOwn, isPlainObject, setOwn } from '../../util/json/json.ts'
import { type FieldError, invalid, quote } from '../field-errors.ts'
import type { ScalePaths } from '../resource.ts'
import { formatFloat } from '../schema/numbers.ts'
import { badRequest, StatusError } from '../status.ts'
import { goTypeOf } from './go-types.ts'

export interface ScaleObject extends KubeObject {
  spec: { replicas?: number }
  status: { replicas: number; selector?: string }
}

/**
 * Marks absent replicas in the Scale that a patch is applied to. If it is still there after the patch, the request is rejected.
 */
const notSet = -(2 ** 31)
const maxReplicas = 2 ** 31 - 1

export interface ToScaleOptions {
  /** True to allow an object without replicas: it has no Scale to read, but an update can set one. */
  readonly forUpdate?: boolean
}

export function toScale(
  object: KubeObject,
  paths: ScalePaths,
  { forUpdate = false }: ToScaleOptions = {},
): ScaleObject {
  const replicas = expect(readInteger(object, paths.specReplicasPath))
  const statusReplicas = expect(readInteger(object, paths.statusReplicasPath)) ?? 0
  const selector = paths.labelSelectorPath ? expect(readText(object, paths.labelSelectorPath)) : undefined
  if (replicas === undefined && !forUpdate) {
    const why = `the spec replicas field ${quote(paths.specReplicasPath)} does not exist`
    throw new StatusError(500, 'InternalError', `Internal error occurred: ${why}`, { causes: [{ message: why }] })
  }
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    },
    // Go omits a zero in the spec, but not in the status.
    spec: replicas === 0 ? {} : { replicas: replicas ?? notSet },
    status: { replicas: statusReplicas, ...(selector ? { selector } : {}) },
  }
}

/** A copy of the object with the replicas of the Scale, and with its resourceVersion if the client set one. */
export function applyScale(object: KubeObject, scale: ScaleObject, paths: ScalePaths): KubeObject {
  const replicas = scale.spec?.replicas ?? 0
  if (replicas === notSet) throw badRequest(`the spec replicas field ${quote(paths.specReplicasPath)} cannot be empty`)
  const copy = cloneJson(object as unknown as JsonObject)
  write(copy, namesOf(paths.specReplicasPath), replicas)
  const result = copy as unknown as KubeObject
  const { resourceVersion } = scale.metadata
  if (resourceVersion) result.metadata.resourceVersion = resourceVersion
  return result
}

/** Runs with every write of an object that has a scale subresource. */
export function validateScaleSpec(object: KubeObject, { specReplicasPath }: ScalePaths): FieldError[] {
  return validateReplicas(object, specReplicasPath)
}

export function validateScaleStatus(object: KubeObject, paths: ScalePaths): FieldError[] {
  const { statusReplicasPath, labelSelectorPath } = paths
  const errors = validateReplicas(object, statusReplicasPath)
  const selector = labelSelectorPath === undefined ? undefined : readText(object, labelSelectorPath)
  return selector && 'problem' in selector ? [...errors, invalid(labelSelectorPath!, '', selector.problem)] : errors
}

function validateReplicas(object: KubeObject, path: string): FieldError[] {
  const read = readInteger(object, path)
  if ('problem' in read) return [invalid(path, 0, read.problem)]
  const { value = 0 } = read
  if (value < 0) return [invalid(path, value, 'should be a non-negative integer')]
  return value > maxReplicas ? [invalid(path, value, `should be less than or equal to ${maxReplicas}`)] : []
}

type Read<T> = { readonly value: T | undefined } | { readonly problem: string }

function namesOf(path: string): string[] {
  return path.replace(/^\./, '').split('.')
}

function read(object: KubeObject, path: string): Read<Json> {
  const names = namesOf(path)
  let value: Json | undefined = object as unknown as JsonObject
  for (const [index, name] of names.entries()) {
    if (value === null || value === undefined) return { value: undefined }
    if (!isPlainObject(value)) {
      return { problem: accessorProblem(names.slice(0, index + 1), value, 'map[string]interface{}') }
    }
    value = getOwn(value, name)
  }
  return { value }
}

function readInteger(object: KubeObject, path: string): Read<number> {
  const found = read(object, path)
  if ('problem' in found || found.value === undefined) return found as Read<number>
  const { value } = found
  if (typeof value === 'number' && Number.isInteger(value)) return { value }
  return { problem: accessorProblem(namesOf(path), value, 'int64') }
}

function readText(object: KubeObject, path: string): Read<string> {
  const found = read(object, path)
  if ('problem' in found || found.value === undefined) return found as Read<string>
  const { value } = found
  return typeof value === 'string' ? { value } : { problem: accessorProblem(namesOf(path), value, 'string') }
}

function accessorProblem(names: readonly string[], value: Json, expected: string): string {
  return `.${names.join('.')} accessor error: ${printGo(value, 0)} is of the type ${goTypeOf(value)}, expected ${expected}`
}

/** Prints like Go's `%v`; truncated at depth 100. */
function printGo(value: Json, depth: number): string {
  if (value === null) return '<nil>'
  if (typeof value !== 'object') return typeof value === 'number' ? formatFloat(value) : String(value)
  if (depth > 100) return '...'
  if (Array.isArray(value)) return `[${value.map((child) => printGo(child, depth + 1)).join(' ')}]`
  const keys = Object.keys(value).sort()
  return `map[${keys.map((key) => `${key}:${printGo(value[key]!, depth + 1)}`).join(' ')}]`
}

/** The real server fails with a plain 500 here, without a reason. */
function expect<T>(read: Read<T>): T | undefined {
  if ('problem' in read) throw new StatusError(500, '', read.problem)
  return read.value
}

function write(object: JsonObject, names: readonly string[], value: Json): void {
  let target = object
  for (const [index, name] of names.slice(0, -1).entries()) {
    const child = getOwn(target, name)
    if (child !== undefined && !isPlainObject(child)) {
      const path = names.slice(0, index + 1).join('.')
      throw new StatusError(500, '', `value cannot be set because .${path} is not a map[string]interface{}`)
    }
    if (child === undefined) setOwn(target, name, {})
    target = target[name] as JsonObject
  }
  setOwn(target, names.at(-1)!, value)
}
