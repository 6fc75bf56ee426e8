/**
 * Creates the Strategy of a built-in kind from its type and its KindRules. Decoding, defaulting, encoding and most of the
 * handling of status and generation are the same for all kinds. Called by resources.ts.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { FieldError } from '../field-errors.ts'
import { subdomainNameProblems } from '../names.ts'
import type { Strategy } from '../resource.ts'
import { badRequest } from '../status.ts'
import { applyStrategic } from '../strategic/apply.ts'
import { DecodeError, decodeStruct } from './decode.ts'
import { defaulters } from './defaulters.ts'
import { applyDefaults } from './defaulting.ts'
import { encodeStruct } from './encode.ts'
import { kindWarnings } from './kind-warnings.ts'
import type { Types } from './types.ts'
import { isEqual } from './values.ts'

/** The rules of a kind beyond those of all kinds. The `prepare…` functions modify the object. */
export interface KindRules {
  /** Default: names are DNS subdomains. */
  readonly nameProblems?: Strategy['nameProblems']
  /** True if the kind has a status that only `/status` changes. */
  readonly hasStatus?: boolean
  /** The part of the object whose changes increment `metadata.generation`; undefined if the kind has no generation. */
  readonly generationOf?: (object: KubeObject) => unknown
  readonly prepareForCreate?: (object: KubeObject) => void
  readonly prepareForUpdate?: (object: KubeObject, old: KubeObject) => void
  readonly prepareForStatusUpdate?: (object: KubeObject, old: KubeObject) => void
  readonly prepareForFinalize?: (object: KubeObject, old: KubeObject) => void
  readonly validate?: (object: KubeObject) => FieldError[]
  /** Additional checks of an update; they run before `validate`. */
  readonly validateChange?: (object: KubeObject, old: KubeObject) => FieldError[]
  /** Replaces `validateChange` and `validate` for updates, for kinds whose checks have another order. */
  readonly validateUpdate?: (object: KubeObject, old: KubeObject) => FieldError[]
  readonly validateStatus?: (object: KubeObject, old: KubeObject) => FieldError[]
  readonly selectable?: { readonly [field: string]: (object: KubeObject) => string }
  readonly extra?: Pick<
    Strategy,
    | 'allowsCreateOnUpdate'
    | 'allowsUnconditionalUpdate'
    | 'returnsDeletedObject'
    | 'markDeleting'
    | 'isHeld'
    | 'gracePeriodSeconds'
    | 'defaultPropagation'
  >
}

export function createStrategy(types: Types, type: string, kind: string, rules: KindRules): Strategy {
  const write = (object: KubeObject): void => replaceContent(object, encodeStruct(types, type, object))
  const selectable = Object.entries(rules.selectable ?? {})
  const warnings = kindWarnings(type)
  return {
    decode: (body) => decodeKind(types, type, kind, body),
    mergeStrategically: (current, patch) => applyStrategic(types, type, current, patch),
    mergeScaleStrategically: (scale, patch) => applyStrategic(types, 'autoscaling.v1.Scale', scale, patch),
    nameProblems: rules.nameProblems ?? subdomainNameProblems,
    prepareForCreate(object) {
      if (rules.hasStatus) object['status'] = {}
      if (rules.generationOf) object.metadata.generation = 1
      rules.prepareForCreate?.(object)
      write(object)
    },
    prepareForUpdate(object, old) {
      keepField(object, old, rules.hasStatus ? 'status' : undefined)
      rules.prepareForUpdate?.(object, old)
      write(object)
      keepGeneration(object, old)
      if (rules.generationOf && !isEqual(rules.generationOf(object), rules.generationOf(old))) {
        object.metadata.generation = (old.metadata.generation ?? 0) + 1
        write(object)
      }
    },
    prepareForStatusUpdate(object, old) {
      keepField(object, old, 'spec')
      rules.prepareForStatusUpdate?.(object, old)
      keepGeneration(object, old)
      write(object)
    },
    prepareForFinalize(object, old) {
      rules.prepareForFinalize?.(object, old)
      write(object)
    },
    validate: (object) => rules.validate?.(object) ?? [],
    validateUpdate(object, old) {
      if (rules.validateUpdate) return rules.validateUpdate(object, old)
      return [...(rules.validateChange?.(object, old) ?? []), ...(rules.validate?.(object) ?? [])]
    },
    validateStatusUpdate: (object, old) => rules.validateStatus?.(object, old) ?? [],
    ...(selectable.length > 0 && {
      selectableFieldNames: selectable.map(([name]) => name),
      selectableFields: (object: KubeObject) =>
        Object.fromEntries(selectable.map(([name, read]) => [name, read(object)])),
    }),
    ...(warnings && { warnings }),
    allowsUnconditionalUpdate: true,
    ...rules.extra,
  }
}

function decodeKind(types: Types, type: string, kind: string, body: KubeObject): ReturnType<Strategy['decode']> {
  try {
    const { object, problems } = decodeStruct(types, type, body)
    applyDefaults(types, defaulters, type, object)
    return { object: encodeStruct(types, type, object) as KubeObject, problems }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const version = body.apiVersion.replace(/^.*\//, '')
    throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${error.message}`)
  }
}

/** Shares the old object's value without a copy: encoding copies the object before anything modifies it. */
function keepField(object: KubeObject, old: KubeObject, field: string | undefined): void {
  if (field === undefined) return
  if (old[field] === undefined) delete object[field]
  else object[field] = old[field]
}

function keepGeneration(object: KubeObject, old: KubeObject): void {
  if (old.metadata.generation === undefined) delete object.metadata.generation
  else object.metadata.generation = old.metadata.generation
}

/** Encoding returns a new object, but `prepare…` functions must modify the object in place. */
function replaceContent(object: KubeObject, content: object): void {
  for (const key of Object.keys(object)) delete object[key]
  Object.assign(object, content)
}
