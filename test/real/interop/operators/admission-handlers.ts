/** The same operator as admission-handlers.py: admission handlers of all types, served on PORT, in configurations named MANAGED. */
import { ABSENT, AdmissionError, Operator, PermanentError, PRESENT, TemporaryError } from 'kopf'
import { WebhookServer } from 'kopf/webhooks'

const { GROUP, MANAGED, PORT, CERT, KEY, CA } = process.env as Record<string, string>
const widgets = [GROUP!, 'v1', 'widgets'] as const

const kopf: Operator = new Operator()
export default kopf

kopf.settings.admission.managed = MANAGED || null
kopf.settings.admission.server = new WebhookServer({
  addr: '127.0.0.1',
  port: Number(PORT),
  certfile: CERT!,
  pkeyfile: KEY!,
  cafile: CA!,
})

const only = (name: string) => ({ id: name, labels: { case: name } })
const failing = (id: string) => ({ id, labels: { case: 'error' } })

kopf.on.validate(widgets, { id: 'check_size' }, ({ spec }) => {
  if (spec['size'] > 100) throw new AdmissionError('too large', { status: 422 })
})

kopf.on.mutate(widgets, { id: 'stamp' }, ({ patch }) => {
  patch.metadata.labels['by'] = 'ours'
})

kopf.on.validate(
  widgets,
  {
    id: 'picky',
    labels: { stage: 'prod', owner: PRESENT, gone: ABSENT, odd: () => true },
    operations: ['CREATE', 'UPDATE'],
    ignoreFailures: true,
    sideEffects: true,
  },
  () => {
    throw new AdmissionError('picked', { status: 409 })
  },
)

kopf.on.validate(widgets, { id: 'statuses', subresource: 'status', operations: ['UPDATE'] }, ({ status }) => {
  if (status['phase'] === 'Bad') throw new AdmissionError('a bad phase', { status: 400 })
})

kopf.on.mutate(widgets, { id: 'every:part/of.it', subresource: '*', labels: { case: 'part' } }, ({ patch }) => {
  patch.metadata.annotations['part'] = 'seen'
})

kopf.on.validate(widgets, { ...only('stays'), persistent: true }, () => {
  throw new AdmissionError('not while somebody is here')
})

kopf.on.mutate(widgets, { ...only('farewell'), operations: ['DELETE'] }, ({ patch, warnings }) => {
  warnings.push('farewell')
  patch.metadata.labels['gone'] = 'soon'
})

kopf.on.mutate(widgets, only('change'), ({ spec, patch }) => {
  patch.metadata.annotations['example.com/seen~twice'] = 'yes'
  patch.metadata.labels['old'] = null
  patch.spec['size'] = spec['size'] + 1
  patch.spec['gone'] = null
  patch.spec['never'] = null
  patch.spec['nested'] = { a: { b: 'new', c: null } }
  patch.spec['list'] = [1, 2, 3]
  patch.status['phase'] = 'Made'
})

kopf.on.mutate(widgets, only('edit'), ({ patch }) => {
  patch.spec['size'] = 7
  patch.fns.push((body) => body.spec['list'].push(body.spec['size']))
})

kopf.on.mutate(widgets, only('same'), ({ spec, patch }) => {
  patch.spec['size'] = spec['size']
})

kopf.on.validate(widgets, only('warns'), ({ warnings, operation, dryrun, userinfo }) => {
  warnings.push(`${operation} by ${userinfo.username}`)
  warnings.push(`grüße, dry run: ${dryrun}`)
})

kopf.on.mutate(widgets, only('both'), ({ patch, warnings }) => {
  patch.spec['size'] = 0
  warnings.push('changed, and refused')
  throw new AdmissionError('refused', { status: 403 })
})

kopf.on.validate(widgets, failing('wordless'), () => {
  throw new AdmissionError('no code')
})

kopf.on.validate(widgets, failing('permanent'), () => {
  throw new PermanentError('for good')
})

kopf.on.validate(widgets, failing('temporary'), () => {
  throw new TemporaryError('for now', { delay: 10 })
})

kopf.on.validate(widgets, failing('mistake'), () => {
  throw new Error('a mistake')
})

kopf.on.validate(
  widgets,
  { id: 'grown', field: 'spec.size', value: (value) => value === 5 },
  ({ old, new: now, diff }) => {
    const words = `grown: ${diff.length} of ${old?.spec['size']} to ${now?.spec['size']}`
    throw new AdmissionError(words, { status: 400 })
  },
)
