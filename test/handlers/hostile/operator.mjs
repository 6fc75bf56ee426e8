/**
 * A program with an operator with handlers of all types. test/handlers/hostile-objects.test.ts runs it with a small heap. Its environment
 * has the path of the package and the connection; it runs until SIGTERM.
 */
const { module, group, namespaces, connection } = JSON.parse(process.env.HOSTILE_OPERATOR)
const { ConnectionInfo, Operator } = await import(module)
const widgets = [group, 'v1', 'widgets']

const kopf = new Operator()
kopf.on.event(widgets, () => {})
kopf.on.create(widgets, { id: 'created' }, () => ({ seen: true }))
kopf.on.update(widgets, { id: 'updated' }, ({ diff, spec }) => ({ items: diff.length, turn: spec.x }))
kopf.on.resume(widgets, { id: 'resumed' }, () => {})
kopf.on.field(widgets, 'spec.a.a.a.x', { id: 'field' }, ({ diff }) => ({ items: diff.length }))
kopf.index(widgets, { id: 'turns' }, ({ spec }) => [[spec.x, 1]])

const running = await kopf.start({ namespaces, connection: new ConnectionInfo(connection) })
await running.ready
process.stdout.write('ready\n')
process.once('SIGTERM', () => void running.stop())
