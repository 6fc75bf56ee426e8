/** Rules for CronJob. */
import type { KubeObject } from '../../../kube/objects.ts'
import { type FieldError, invalid, notSupported, required } from '../../field-errors.ts'
import { checkCounters, checkNonNegative, checkOneOf } from '../checks.ts'
import { scheduleProblem } from '../cron.ts'
import type { KindRules } from '../strategy.ts'
import { part } from '../values.ts'
import { checkJobSpec, type JobSpec } from './jobs.ts'

interface CronJobSpec {
  readonly schedule: string
  readonly timeZone: string
  readonly concurrencyPolicy: string
  readonly startingDeadlineSeconds: number
  readonly jobTemplate: { readonly spec?: Partial<JobSpec> }
}

function checkCronJob(job: KubeObject, old?: KubeObject): FieldError[] {
  const spec = part<CronJobSpec>(job, 'spec')
  const before = old && part<CronJobSpec>(old, 'spec')
  return [
    ...checkSchedule(spec, before),
    ...checkNonNegative('spec.startingDeadlineSeconds', spec.startingDeadlineSeconds),
    ...(before && before.timeZone === spec.timeZone ? [] : checkTimeZone('spec.timeZone', spec.timeZone)),
    ...checkOneOf('spec.concurrencyPolicy', spec.concurrencyPolicy, ['Allow', 'Forbid', 'Replace']),
    ...checkJobTemplate('spec.jobTemplate.spec', spec.jobTemplate?.spec ?? {}),
    ...checkCounters('spec', spec, ['successfulJobsHistoryLimit', 'failedJobsHistoryLimit']),
  ]
}

function checkSchedule({ schedule = '', timeZone }: Partial<CronJobSpec>, old?: Partial<CronJobSpec>): FieldError[] {
  if (schedule === '') return [required('spec.schedule')]
  const problem = scheduleProblem(schedule)
  const errors = problem === undefined ? [] : [invalid('spec.schedule', schedule, problem)]
  if (!schedule.includes('TZ')) return errors
  const mayHaveZone = old?.schedule?.includes('TZ') ?? false
  if (mayHaveZone && timeZone !== undefined) {
    errors.push(invalid('spec.schedule', schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule'))
  }
  if (!mayHaveZone) {
    errors.push(invalid('spec.schedule', schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'))
  }
  return errors
}

function checkTimeZone(path: string, zone: string | undefined): FieldError[] {
  if (zone === undefined) return []
  if (zone === '') return [invalid(path, zone, 'timeZone must be nil or non-empty string')]
  if (zone.toLowerCase() === 'local') {
    return [invalid(path, zone, 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones')]
  }
  try {
    // JavaScript accepts offsets such as +01:00 as time zones, Go does not.
    if (!/^[+-]/.test(zone)) new Intl.DateTimeFormat('en', { timeZone: zone })
    else return [invalid(path, zone, `unknown time zone ${zone}`)]
    return []
  } catch {
    return [invalid(path, zone, `unknown time zone ${zone}`)]
  }
}

function checkJobTemplate(path: string, spec: Partial<JobSpec>): FieldError[] {
  const errors = checkJobSpec(path, spec)
  if (spec.selector) errors.push(invalid(`${path}.selector`, spec.selector, '`selector` will be auto-generated'))
  if (spec.manualSelector) errors.push(notSupported(`${path}.manualSelector`, true, ['nil', 'false']))
  return errors
}

export const cronJobRules: KindRules = {
  hasStatus: true,
  generationOf: (job) => job['spec'],
  validate(job) {
    const { name = '' } = job.metadata
    // The controller appends eleven characters to the name of each Job.
    const tooLong = name.length > 52 ? [invalid('metadata.name', name, 'must be no more than 52 characters')] : []
    return [...checkCronJob(job), ...tooLong]
  },
  validateUpdate: checkCronJob,
}
