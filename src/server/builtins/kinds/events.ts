/** Rules for Event: one collection served by two API groups, which use different names for the same fields. */
import type { KubeObject } from '../../../kube/objects.ts'
import { type FieldError, invalid, required } from '../../field-errors.ts'
import {
  pathSegmentNameProblems,
  qualifiedNameProblems,
  subdomainNameProblems,
  subdomainProblems,
} from '../../names.ts'
import { checkImmutable, problemsAt } from '../checks.ts'
import type { KindRules } from '../strategy.ts'
import { isEqual } from '../values.ts'

interface EventObjectReference {
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
  readonly uid?: string
  readonly apiVersion?: string
  readonly resourceVersion?: string
  readonly fieldPath?: string
}

interface CoreEvent {
  readonly involvedObject?: EventObjectReference
  readonly reason?: string
  readonly message?: string
  readonly type?: string
  readonly action?: string
  readonly source?: { readonly component?: string; readonly host?: string }
  readonly count?: number
  readonly firstTimestamp?: string | null
  readonly lastTimestamp?: string | null
  readonly eventTime?: string | null
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string | null }
  readonly reportingComponent?: string
  readonly reportingInstance?: string
}

const eventOf = (object: KubeObject): CoreEvent => object as CoreEvent

/** Field names of the core group, in which events are stored, and their names in events.k8s.io. */
const renamed: ReadonlyArray<readonly [stored: string, shown: string]> = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
]

function rename(object: KubeObject, apiVersion: string, names: ReadonlyMap<string, string>): KubeObject {
  const entries = Object.entries(object).map(([key, value]): [string, unknown] => [names.get(key) ?? key, value])
  return { ...Object.fromEntries(entries), apiVersion } as KubeObject
}

const toNew = new Map(renamed)
const toOld = new Map(renamed.map(([stored, shown]) => [shown, stored]))

/** The core group writes these two fields even if they are empty; events.k8s.io omits them. */
const emptyReporters = { reportingComponent: '', reportingInstance: '' }

export const eventConversion: {
  toStorage(object: KubeObject): KubeObject
  fromStorage(object: KubeObject): KubeObject
} = {
  toStorage: (object) => ({ ...emptyReporters, ...rename(object, 'v1', toOld) }),
  fromStorage(object) {
    const event = rename(object, 'events.k8s.io/v1', toNew)
    for (const field of ['reportingController', 'reportingInstance']) if (event[field] === '') delete event[field]
    return event
  },
}

/** Events of both groups are validated in the core form, so the messages use the core field names. */
function checkEvent(object: KubeObject, controllerField: string): FieldError[] {
  const event = eventOf(object)
  const { namespace = '' } = object.metadata
  const about = event.involvedObject?.namespace ?? ''
  const errors: FieldError[] = []
  const isMatch = event.eventTime
    ? about !== '' || ['default', 'kube-system'].includes(namespace)
    : about === ''
      ? ['', 'default'].includes(namespace)
      : about === namespace
  if (!isMatch) errors.push(invalid('involvedObject.namespace', about, 'does not match event.namespace'))
  if (event.eventTime) errors.push(...checkNewFields(event, controllerField))
  return [...errors, ...problemsAt('namespace', namespace, subdomainProblems(namespace))]
}

function checkNewFields(event: CoreEvent, controllerField: string): FieldError[] {
  const {
    reportingComponent: controller = '',
    reportingInstance: instance = '',
    action = '',
    reason = '',
    message = '',
  } = event
  const errors = controller === '' ? [required(controllerField)] : []
  errors.push(...problemsAt(controllerField, controller, qualifiedNameProblems(controller)))
  const limit = (field: string, text: string, maximum: number): void => {
    if (Buffer.byteLength(text) > maximum) errors.push(invalid(field, '', `can have at most ${maximum} characters`))
  }
  for (const [field, text] of [
    ['reportingInstance', instance],
    ['action', action],
    ['reason', reason],
  ] as const) {
    if (text === '') errors.push(required(field))
    limit(field, text, 128)
  }
  limit('message', message, 1024)
  return errors
}

function checkSeries({ series }: CoreEvent): FieldError[] {
  if (!series) return []
  const errors = (series.count ?? 0) < 2 ? [invalid('series.count', '', 'should be at least 2')] : []
  return series.lastObservedTime ? errors : [...errors, required('series.lastObservedTime')]
}

function checkStrict(object: KubeObject): FieldError[] {
  const event = eventOf(object)
  const errors = checkSeries(event)
  if (!event.eventTime) errors.push(required('eventTime'))
  if (event.type !== 'Normal' && event.type !== 'Warning')
    errors.push(invalid('type', '', `has invalid value: ${event.type ?? ''}`))
  const unset = (field: string, isSet: boolean): void => {
    if (isSet) errors.push(invalid(field, '', 'needs to be unset'))
  }
  unset('firstTimestamp', Boolean(event.firstTimestamp))
  unset('lastTimestamp', Boolean(event.lastTimestamp))
  unset('count', Boolean(event.count))
  unset('source', Boolean(event.source?.component || event.source?.host))
  return errors
}

const fixed = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  // The real server checks `reason` twice.
  'reason',
  'type',
  'eventTime',
  'action',
  'related',
]

function checkStrictChange(object: KubeObject, old: KubeObject): FieldError[] {
  const series = isEqual(object['series'], old['series']) ? [] : checkSeries(eventOf(object))
  const same = (field: string, name = field): FieldError[] => checkImmutable(name, object[field], old[field])
  return [
    ...series,
    ...fixed.flatMap((field) => same(field)),
    ...same('reportingComponent', 'reportingController'),
    ...same('reportingInstance'),
  ]
}

const reference =
  (field: keyof EventObjectReference) =>
  (object: KubeObject): string =>
    eventOf(object).involvedObject?.[field] ?? ''

const selectable: NonNullable<KindRules['selectable']> = {
  'involvedObject.kind': reference('kind'),
  'involvedObject.namespace': reference('namespace'),
  'involvedObject.name': reference('name'),
  'involvedObject.uid': reference('uid'),
  'involvedObject.apiVersion': reference('apiVersion'),
  'involvedObject.resourceVersion': reference('resourceVersion'),
  'involvedObject.fieldPath': reference('fieldPath'),
  reason: (object) => eventOf(object).reason ?? '',
  reportingComponent: (object) => eventOf(object).reportingComponent ?? '',
  source: (object) => eventOf(object).source?.component || eventOf(object).reportingComponent || '',
  type: (object) => eventOf(object).type ?? '',
}

export const coreEventRules: KindRules = {
  nameProblems: pathSegmentNameProblems,
  validate: (object) => checkEvent(object, 'reportingComponent'),
  selectable,
  extra: { allowsCreateOnUpdate: true, defaultPropagation: 'None' },
}

const inOldForm =
  <T>(read: (object: KubeObject) => T) =>
  (object: KubeObject): T =>
    read(eventConversion.toStorage(object))

export const eventRules: KindRules = {
  nameProblems: subdomainNameProblems,
  validate: inOldForm((object) => [...checkEvent(object, 'reportingController'), ...checkStrict(object)]),
  validateUpdate: (object, old) => {
    const [stored, before] = [eventConversion.toStorage(object), eventConversion.toStorage(old)]
    return [...checkEvent(stored, 'reportingController'), ...checkStrictChange(stored, before)]
  },
  selectable: Object.fromEntries(
    Object.entries(selectable)
      .filter(([name]) => name !== 'source')
      .map(([name, read]) => [
        name.replace('involvedObject.', 'regarding.').replace('reportingComponent', 'reportingController'),
        inOldForm(read),
      ]),
  ),
  extra: { allowsCreateOnUpdate: true, defaultPropagation: 'None' },
}
