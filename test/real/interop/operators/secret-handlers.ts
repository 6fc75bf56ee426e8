/** The same operator as secret-handlers.py: prints the arguments of handlers of a Secret. MODE is the setting `persistence.secretValues`. */
import { Operator } from 'kopf'

const secretValues = process.env['MODE'] as 'digest' | 'plain'
const kopf: Operator = new Operator({ settings: { persistence: { secretValues } } })
export default kopf

const labels = { case: 'secrets' }

interface Told {
  readonly name: string
  readonly reason: string
}

function note(id: string, { name, reason }: Told, old: unknown, now: unknown): void {
  process.stdout.write(`called ${name} ${id} ${reason} ${old ?? 'None'} ${now ?? 'None'};\n`)
}

kopf.on.create('secrets', { labels, id: 'created' }, (args) =>
  note('created', args, undefined, args.new?.data?.['password']),
)
kopf.on.update('secrets', { labels, id: 'updated' }, (args) => {
  note('updated', args, args.old?.data?.['password'], args.new?.data?.['password'])
})
kopf.on.field('secrets', 'data.password', { labels, id: 'field' }, (args) => note('field', args, args.old, args.new))
kopf.on.resume('secrets', { labels, id: 'resumed' }, (args) =>
  note('resumed', args, undefined, args.new?.data?.['password']),
)
