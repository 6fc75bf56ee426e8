/** Parses and validates the options in a request's query like kube-apiserver. Pure. */
import { toBoundedBigInt } from '../util/text/bounded-integers.ts'
import { type FieldError, forbidden, invalid, notSupported, quote, required, tooLong } from './field-errors.ts'
import { isTrue } from './request.ts'
import { parseSelectors } from './selectors.ts'
import { badRequest, invalidObject } from './status.ts'

const metaGroup = 'meta.k8s.io'

export type FieldValidation = 'Strict' | 'Warn' | 'Ignore'

export interface WriteRequestOptions {
  readonly dryRun: boolean
  readonly fieldValidation: FieldValidation
  /** Server-side apply with `force`: takes over fields of other managers. */
  readonly force: boolean
}

export interface ListOptions {
  readonly limit: number
  readonly continue: string
  readonly resourceVersion: string
  readonly resourceVersionMatch: string
  readonly timeoutSeconds: number | undefined
  readonly allowWatchBookmarks: boolean
  readonly sendInitialEvents: boolean | undefined
}

export type PropagationPolicy = 'Foreground' | 'Background' | 'Orphan'

export interface DeleteRequestOptions {
  readonly dryRun: boolean
  readonly gracePeriodSeconds: number | undefined
  readonly propagationPolicy: PropagationPolicy | undefined
  readonly orphanDependents: boolean | undefined
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
}

export function parseWriteOptions(
  query: URLSearchParams,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  patchType = '',
): WriteRequestOptions {
  const isApply = patchType.startsWith('application/apply-patch')
  if (query.size === 0 && !isApply) return { dryRun: false, fieldValidation: 'Warn', force: false }
  const errors: FieldError[] = []
  const fieldManager = query.get('fieldManager') ?? ''
  if (isApply && fieldManager === '') errors.push(required('fieldManager', 'is required for apply patch'))
  if (kind === 'PatchOptions' && !isApply && query.has('force')) {
    errors.push(forbidden('force', 'may not be specified for non-apply patch'))
  }
  errors.push(...fieldManagerErrors(fieldManager), ...dryRunErrors(query.getAll('dryRun')))
  const fieldValidation = query.get('fieldValidation') || 'Warn'
  if (!['Ignore', 'Strict', 'Warn'].includes(fieldValidation)) {
    errors.push(notSupported('fieldValidation', fieldValidation, ['', 'Ignore', 'Strict', 'Warn']))
  }
  if (errors.length > 0) throw invalidObject(metaGroup, kind, '', errors)
  const force = isTrue(query.get('force'))
  return { dryRun: query.has('dryRun'), fieldValidation: fieldValidation as FieldValidation, force }
}

function fieldManagerErrors(fieldManager: string): FieldError[] {
  if (/^[ -~]{0,128}$/.test(fieldManager)) return []
  const errors: FieldError[] = []
  if (Buffer.byteLength(fieldManager) > 128) errors.push(tooLong('fieldManager', 128))
  let position = 0
  for (const character of fieldManager) {
    if (/\p{C}/u.test(character)) {
      const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
      errors.push(invalid('fieldManager', fieldManager, `invalid character U+${code} (at position ${position})`))
    }
    position += Buffer.byteLength(character)
  }
  return errors
}

function dryRunErrors(values: readonly string[]): FieldError[] {
  return values.every((value) => value === 'All') ? [] : [notSupported('dryRun', values, ['All'])]
}

export function parseListOptions(query: URLSearchParams, isWatch: boolean): ListOptions {
  const sendInitialEvents = query.get('sendInitialEvents')
  const options: ListOptions = {
    limit: parseInteger(query.get('limit')) ?? 0,
    continue: query.get('continue') ?? '',
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    timeoutSeconds: parseInteger(query.get('timeoutSeconds')),
    allowWatchBookmarks: isTrue(query.get('allowWatchBookmarks')),
    sendInitialEvents: sendInitialEvents === null ? undefined : isTrue(sendInitialEvents),
    ...(isWatch ? initialEventsDefault(query) : {}),
  }
  parseSelectors(query)
  const errors = isWatch ? watchOptionErrors(options) : listOptionErrors(options)
  if (errors.length > 0) throw invalidObject(metaGroup, 'ListOptions', '', errors)
  return options
}

/** By default, a watch without a version or with version 0 starts with the existing objects. */
function initialEventsDefault(query: URLSearchParams): Partial<ListOptions> {
  if (query.has('sendInitialEvents') || query.get('resourceVersionMatch')) return {}
  const version = query.get('resourceVersion') ?? ''
  return version === '' || version === '0' ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } : {}
}

function listOptionErrors(options: ListOptions): FieldError[] {
  const errors: FieldError[] = []
  const match = options.resourceVersionMatch
  if (match !== '') {
    if (options.resourceVersion === '') {
      errors.push(
        forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
      )
    }
    if (options.continue !== '') {
      errors.push(forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'))
    }
    if (match !== 'Exact' && match !== 'NotOlderThan') {
      errors.push(notSupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']))
    }
    if (match === 'Exact' && options.resourceVersion === '0') {
      errors.push(
        forbidden('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
      )
    }
  }
  if (options.sendInitialEvents !== undefined) {
    errors.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'))
  }
  return errors
}

function watchOptionErrors(options: ListOptions): FieldError[] {
  const errors: FieldError[] = []
  const match = options.resourceVersionMatch
  if (options.sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    errors.push(
      forbidden('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
    )
  }
  if (match !== '') {
    if (options.sendInitialEvents === undefined) {
      errors.push(
        forbidden(
          'resourceVersionMatch',
          'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
        ),
      )
    }
    if (match !== 'NotOlderThan') errors.push(notSupported('resourceVersionMatch', match, ['NotOlderThan']))
    if (options.continue !== '') {
      errors.push(forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'))
    }
  }
  return errors
}

/** Parsed from the body if there is one, else from the query; never from both. */
export function parseDeleteOptions(query: URLSearchParams, body: unknown): DeleteRequestOptions {
  const options = body === undefined ? deleteOptionsFromQuery(query) : deleteOptionsFromBody(body)
  const errors: FieldError[] = []
  if (options.orphanDependents !== undefined && options.propagationPolicy !== undefined) {
    errors.push(
      invalid(
        'propagationPolicy',
        options.propagationPolicy,
        'orphanDependents and deletionPropagation cannot be both set',
      ),
    )
  }
  const policies = ['Foreground', 'Background', 'Orphan']
  if (options.propagationPolicy !== undefined && !policies.includes(options.propagationPolicy)) {
    errors.push(notSupported('propagationPolicy', options.propagationPolicy, [...policies, 'nil']))
  }
  errors.push(...dryRunErrors(options.dryRunValues))
  if (errors.length > 0) throw invalidObject(metaGroup, 'DeleteOptions', '', errors)
  return options
}

type RawDeleteOptions = DeleteRequestOptions & { dryRunValues: readonly string[] }

function deleteOptionsFromQuery(query: URLSearchParams): RawDeleteOptions {
  const dryRunValues = query.getAll('dryRun')
  const orphan = query.get('orphanDependents')
  return {
    dryRun: dryRunValues.length > 0,
    dryRunValues,
    gracePeriodSeconds: parseInteger(query.get('gracePeriodSeconds')),
    propagationPolicy: (query.get('propagationPolicy') ?? undefined) as PropagationPolicy | undefined,
    orphanDependents: orphan === null ? undefined : isTrue(orphan),
    uid: undefined,
    resourceVersion: undefined,
  }
}

function deleteOptionsFromBody(body: unknown): RawDeleteOptions {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw badRequest('decoded object cannot be converted to DeleteOptions')
  }
  const raw = body as Record<string, unknown>
  const { kind = 'DeleteOptions', apiVersion = 'v1' } = raw
  if (kind !== 'DeleteOptions') {
    throw badRequest(
      `no kind ${quote(String(kind))} is registered for version ${quote(String(apiVersion))} in scheme "pkg/runtime/scheme.go:111"`,
    )
  }
  const preconditions = (raw['preconditions'] ?? {}) as Record<string, unknown>
  const dryRunValues = Array.isArray(raw['dryRun']) ? raw['dryRun'].map(String) : []
  return {
    dryRun: dryRunValues.length > 0,
    dryRunValues,
    gracePeriodSeconds: asType(raw['gracePeriodSeconds'], 'number', 'gracePeriodSeconds'),
    propagationPolicy: asType(raw['propagationPolicy'], 'string', 'propagationPolicy') as PropagationPolicy | undefined,
    orphanDependents: asType(raw['orphanDependents'], 'boolean', 'orphanDependents'),
    uid: asType(preconditions['uid'], 'string', 'preconditions.uid'),
    resourceVersion: asType(preconditions['resourceVersion'], 'string', 'preconditions.resourceVersion'),
  }
}

interface DeleteOptionTypes {
  number: number
  string: string
  boolean: boolean
}

const goTypes = { number: 'int64', string: 'string', boolean: 'bool' }

function asType<N extends keyof DeleteOptionTypes>(
  value: unknown,
  type: N,
  field: string,
): DeleteOptionTypes[N] | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === type) return value as DeleteOptionTypes[N]
  const given = typeof value === 'boolean' ? 'bool' : typeof value
  throw badRequest(
    `json: cannot unmarshal ${given} into Go struct field DeleteOptions.${field} of type ${goTypes[type]}`,
  )
}

function parseInteger(text: string | null): number | undefined {
  if (text === null || text === '') return undefined
  if (!/^[+-]?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${quote(text)}: invalid syntax`)
  const isInRange = BigInt.asIntN(64, toBoundedBigInt(text)) === toBoundedBigInt(text)
  if (!isInRange) throw badRequest(`strconv.ParseInt: parsing ${quote(text)}: value out of range`)
  return Number(text)
}

/** A resourceVersion as a number: 0 for an empty text, undefined if it is not a number. */
export function parseVersion(text: string): number | undefined {
  if (text === '') return 0
  return /^\d{1,19}$/.test(text) ? Number(text) : undefined
}
