/** Applies the patch of a mutating webhook and decodes the result like a client's body. */
import { formatGroupVersion, type JsonObject, type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import { goJson } from '../../util/json/go-json.ts'
import { isPlainObject, type Json } from '../../util/json/json.ts'
import type { ResourceCall } from '../call.ts'
import { decodeTyped } from '../decode.ts'
import { quote } from '../field-errors.ts'
import { decodeMetadata } from '../metadata.ts'
import { applyJsonOperations, type PatchOperation } from '../patch-dialect.ts'
import type { ApiResource } from '../resource.ts'
import { internalError, StatusError } from '../status.ts'
import type { Invocation } from './match.ts'

interface WebhookPatch {
  readonly object: KubeObject | undefined
  readonly operations: readonly PatchOperation[]
}

/** Undefined if the patch changes nothing. */
export function applyPatch(
  call: ResourceCall,
  { hook, target }: Invocation,
  patch: WebhookPatch,
): KubeObject | undefined {
  const { object, operations } = patch
  if (object === undefined) {
    const what = `admission webhook ${quote(hook.name)} attempted to modify the object`
    throw internalError(new Error(`${what}, which is not supported for this operation`))
  }
  try {
    const patched = applyJsonOperations(object as unknown as Json, operations)
    const isWhole = object.kind === target.kind
    const read = isWhole ? readObject(call, target, patched) : readPart(patched)
    return isDeepEqual(read, object) ? undefined : read
  } catch (error) {
    throw asInternalError(error)
  }
}

function readObject(call: ResourceCall, target: ApiResource, patched: Json): KubeObject {
  if (target.isCustom) return readCustom(target, patched)
  const source = { text: '', isStrict: false }
  return decodeTyped({ ...call, resource: target }, patched, source).object
}

/** Unknown fields are not dropped: later webhooks see them; they are pruned before storing. */
function readCustom(target: ApiResource, patched: Json): KubeObject {
  const fields = asObject(patched)
  const { apiVersion, kind } = fields as { apiVersion?: string; kind?: string }
  if (!kind) throw new Error(`Object 'Kind' is missing in '${goJson(patched)}'`)
  const expected = formatGroupVersion(target.group, target.version)
  if (apiVersion !== expected) {
    const { group, version } = parseGroupVersion(apiVersion ?? '') ?? { group: '', version: '' }
    const why = `is unstructured and is not suitable for converting to ${quote(expected)}`
    throw new StatusError(500, '', `${group}/${version}, Kind=${kind} ${why}`)
  }
  const { metadata } = decodeMetadata(fields['metadata'], target)
  const object = { ...fields, apiVersion, kind, metadata } as KubeObject
  target.strategy.fillDefaults?.(object)
  return object
}

/** A Scale, which its verb validates. */
function readPart(patched: Json): KubeObject {
  const fields = asObject(patched)
  return { ...fields, metadata: fields['metadata'] ?? {} } as unknown as KubeObject
}

function asObject(patched: Json): JsonObject {
  if (isPlainObject(patched)) return patched
  throw new Error(`couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value`)
}

/** kube-apiserver reports an invalid patch as an internal error. */
function asInternalError(error: unknown): unknown {
  if (error instanceof StatusError && error.code !== 400) return error
  const { message } = error as Error
  const why = /^\S+ in version "[^"]*" cannot be handled as a \S+: (.*)$/s.exec(message)?.[1]
  return internalError(new Error(why ?? message))
}
