/** Rules for Job. */
import type { KubeObject } from '../../../kube/objects.ts'
import { type FieldError, invalid, notSupported, required } from '../../field-errors.ts'
import { labelProblems } from '../../names.ts'
import {
  checkCounters,
  checkImmutable,
  checkLabelSelector,
  checkOneOf,
  inFieldOrder,
  isUsableSelector,
  type LabelSelectorSpec,
  selectorMatches,
} from '../checks.ts'
import type { KindRules } from '../strategy.ts'
import { checkPodTemplate } from '../validation/pod-spec.ts'
import type { PodTemplate } from '../validation/shapes.ts'
import { isEqual, part } from '../values.ts'

export interface JobSpec {
  readonly completions: number
  readonly parallelism: number
  readonly backoffLimitPerIndex: number
  readonly maxFailedIndexes: number
  readonly completionMode: string
  readonly podReplacementPolicy: string
  readonly podFailurePolicy: object
  readonly successPolicy: object
  readonly managedBy: string
  readonly suspend: boolean
  readonly manualSelector: boolean
  readonly selector: LabelSelectorSpec
  readonly template: PodTemplate
}

const specOf = (job: KubeObject): Partial<JobSpec> => part<JobSpec>(job, 'spec')
const maxParallelism = 100_000

/** Selects the pods by the UID of the Job, so that a Job never adopts the pods of another Job with the same name. */
function generateSelector(job: KubeObject): void {
  const spec = job['spec'] as {
    manualSelector?: boolean
    selector?: { matchLabels?: object }
    template: { metadata: { labels?: object } }
  }
  if (spec.manualSelector) return
  const name = job.metadata.name ?? ''
  const uid = job.metadata.uid ?? ''
  const given = spec.template.metadata.labels
  // The labels of a Job default to those of its template, including the generated labels.
  const isShared = job.metadata.labels === undefined || isEqual(job.metadata.labels, given)
  const generated = {
    'job-name': name,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'batch.kubernetes.io/controller-uid': uid,
  }
  spec.template.metadata.labels = { ...generated, ...given }
  if (isShared) job.metadata.labels = { ...generated, ...job.metadata.labels }
  spec.selector ??= {}
  spec.selector.matchLabels = { 'batch.kubernetes.io/controller-uid': uid, ...spec.selector.matchLabels }
}

function checkGenerated(job: KubeObject): FieldError[] {
  const { manualSelector, selector, template } = specOf(job)
  if (manualSelector || !selector) return []
  const { name = '', uid = '' } = job.metadata
  const expected = {
    'controller-uid': uid,
    'job-name': name,
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
  }
  const labels = template?.metadata?.labels ?? {}
  const path = 'spec.template.metadata.labels'
  const errors = Object.entries(expected).flatMap(([key, value]) => {
    if (!Object.hasOwn(labels, key)) return [required(`${path}[${key}]`, `must be '${value}'`)]
    return labels[key] === value ? [] : [invalid(`${path}[${key}]`, labels, `must be '${value}'`)]
  })
  if (isUsableSelector(selector) && !selectorMatches(selector, expected)) {
    errors.push(inFieldOrder(invalid('spec.selector', selector, '`selector` not auto-generated'), selector))
  }
  return errors
}

function checkIndexes(path: string, spec: Partial<JobSpec>): FieldError[] {
  const { completionMode = 'NonIndexed', completions, parallelism = 0, backoffLimitPerIndex, maxFailedIndexes } = spec
  if (completionMode !== 'Indexed') {
    const rule = 'requires indexed completion mode'
    return completionMode !== 'NonIndexed'
      ? []
      : [
          ...(backoffLimitPerIndex === undefined
            ? []
            : [invalid(`${path}.backoffLimitPerIndex`, backoffLimitPerIndex, rule)]),
          ...(maxFailedIndexes === undefined ? [] : [invalid(`${path}.maxFailedIndexes`, maxFailedIndexes, rule)]),
        ]
  }
  const errors = completions === undefined ? [required(`${path}.completions`, 'when completion mode is Indexed')] : []
  if (parallelism > maxParallelism) {
    const rule = `must be less than or equal to ${maxParallelism} when completion mode is Indexed`
    errors.push(invalid(`${path}.parallelism`, parallelism, rule))
  }
  if (completions !== undefined && maxFailedIndexes !== undefined && maxFailedIndexes > completions) {
    errors.push(invalid(`${path}.maxFailedIndexes`, maxFailedIndexes, 'must be less than or equal to completions'))
  }
  return errors
}

export function checkJobSpec(path: string, spec: Partial<JobSpec>): FieldError[] {
  const counters = [
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
    'backoffLimitPerIndex',
    'maxFailedIndexes',
  ]
  const errors = checkCounters(path, spec, counters)
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined) {
    errors.push(required(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified'))
  }
  const policies = spec.podFailurePolicy ? ['Failed'] : ['Failed', 'TerminatingOrFailed']
  return [
    ...errors,
    ...checkOneOf(`${path}.completionMode`, spec.completionMode, ['NonIndexed', 'Indexed']),
    ...checkIndexes(path, spec),
    ...checkOneOf(`${path}.podReplacementPolicy`, spec.podReplacementPolicy, policies),
    ...checkPodTemplate(`${path}.template`, spec.template ?? {}),
    ...checkRestart(`${path}.template.spec.restartPolicy`, spec),
  ]
}

function checkRestart(path: string, { template, podFailurePolicy }: Partial<JobSpec>): FieldError[] {
  const policy = template?.spec?.restartPolicy ?? ''
  if (policy === '' || policy === 'Always') return [required(path, 'valid values: "OnFailure", "Never"')]
  if (policy !== 'OnFailure' && policy !== 'Never') return [notSupported(path, policy, ['OnFailure', 'Never'])]
  if (!podFailurePolicy || policy === 'Never') return []
  return [invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
}

function validateJob(job: KubeObject): FieldError[] {
  const spec = specOf(job)
  const errors = [...checkGenerated(job), ...checkJobSpec('spec', spec)]
  if (!spec.selector) errors.push(required('spec.selector'))
  else errors.push(...checkLabelSelector('spec.selector', spec.selector))
  const labels = spec.template?.metadata?.labels
  if (isUsableSelector(spec.selector) && !selectorMatches(spec.selector, labels)) {
    errors.push(invalid('spec.template.metadata.labels', labels ?? null, '`selector` does not match template `labels`'))
  }
  const last = `${job.metadata.name}-${(spec.completions ?? 0) - 1}`
  if (spec.completionMode === 'Indexed' && (spec.completions ?? 0) > 0 && labelProblems(last).length > 0) {
    errors.push(
      invalid('metadata.name', job.metadata.name, `will not able to create pod with invalid DNS label: ${last}`),
    )
  }
  return errors
}

function checkJobChange(job: KubeObject, old: KubeObject): FieldError[] {
  const [spec, oldSpec] = [specOf(job), specOf(old)]
  const same = (field: keyof JobSpec): FieldError[] =>
    checkImmutable(`spec.${field}`, spec[field] ?? null, oldSpec[field] ?? null)
  return [
    ...checkCompletions(spec, oldSpec),
    ...same('selector'),
    ...checkTemplateChange(job, old),
    ...same('completionMode'),
    ...same('podFailurePolicy'),
    ...same('backoffLimitPerIndex'),
    ...same('managedBy'),
    ...same('successPolicy'),
  ]
}

function checkCompletions(spec: Partial<JobSpec>, old: Partial<JobSpec>): FieldError[] {
  if (spec.completionMode !== 'Indexed')
    return checkImmutable('spec.completions', spec.completions ?? null, old.completions ?? null)
  if (spec.completions === undefined || spec.completions === old.completions || spec.completions === spec.parallelism)
    return []
  return [invalid('spec.completions', spec.completions, 'can only be modified in tandem with spec.parallelism')]
}

interface ValidatedJobStatus {
  readonly startTime: string
  readonly active: number
  readonly succeeded: number
  readonly conditions: ReadonlyArray<{ readonly type: string; readonly status: string }>
}

/** The scheduling fields and the resources of a template are mutable while the Job is suspended and has no active pods. */
function checkTemplateChange(job: KubeObject, old: KubeObject): FieldError[] {
  const status = part<ValidatedJobStatus>(old, 'status')
  const isSuspended = (status.conditions ?? []).some(
    ({ type, status: state }) => type === 'Suspended' && state === 'True',
  )
  const isOpen =
    specOf(old).suspend === true && (status.startTime === undefined || isSuspended) && (status.active ?? 0) === 0
  const [template, before] = [specOf(job).template ?? {}, specOf(old).template ?? {}]
  if (isEqual(isOpen ? fixedParts(template) : template, isOpen ? fixedParts(before) : before)) return []
  return [inFieldOrder(invalid('spec.template', template, 'field is immutable'), template)]
}

function fixedParts(template: PodTemplate): unknown {
  const {
    nodeSelector: _n,
    tolerations: _t,
    schedulingGates: _s,
    containers,
    initContainers,
    ...rest
  } = (template.spec ?? {}) as Record<string, unknown>
  const withoutResources = (list: unknown): unknown =>
    ((list ?? []) as object[]).map((container) => ({ ...container, resources: undefined }))
  return {
    ...rest,
    affinity: undefined,
    containers: withoutResources(containers),
    initContainers: withoutResources(initContainers),
  }
}

export const jobRules: KindRules = {
  // The API's default since before the garbage collector; kubectl requests Background explicitly.
  extra: { defaultPropagation: 'Orphan' },
  hasStatus: true,
  generationOf: (job) => job['spec'],
  prepareForCreate: generateSelector,
  validate: validateJob,
  validateUpdate: (job, old) => [...validateJob(job), ...checkJobChange(job, old)],
  validateStatus: (job) =>
    checkCounters('status', part<object>(job, 'status'), ['active', 'succeeded', 'failed', 'ready', 'terminating']),
  selectable: { 'status.successful': (job) => String(part<ValidatedJobStatus>(job, 'status').succeeded ?? 0) },
}
