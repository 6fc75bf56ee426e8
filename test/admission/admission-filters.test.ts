import { ABSENT, EVERYTHING, KopfError, Operator, PRESENT } from 'kopf'
import { describe, expect, test } from 'vitest'
import type { Tree } from '../support/answers.ts'
import { useLab } from '../support/lab.ts'
import { Door, refusalOf, widget } from './admission-support.ts'

const lab = useLab()

/** Admission handlers by id with their options; each adds its own id as a warning. */
function operatorOf(handlers: Readonly<Record<string, object>>, kind: 'validate' | 'mutate' = 'validate'): Operator {
  const kopf = new Operator()
  for (const [id, options] of Object.entries(handlers)) {
    kopf.on[kind](lab.widgets, { id, ...options }, ({ warnings }) => void warnings.push(id))
  }
  return kopf
}

async function startWith(kopf: Operator): Promise<Door> {
  const door = new Door(lab, kopf)
  await lab.start(kopf)
  return door
}

describe('filters', () => {
  test.each<[string, object, Tree, boolean]>([
    ['a matching label value', { labels: { app: 'web' } }, { metadata: { labels: { app: 'web' } } }, true],
    ['another label value', { labels: { app: 'web' } }, { metadata: { labels: { app: 'db' } } }, false],
    ['a label that must be PRESENT', { labels: { app: PRESENT } }, {}, false],
    ['a label that must be ABSENT', { labels: { app: ABSENT } }, {}, true],
    ['a label matched by a function', { labels: { app: (app?: string) => app === undefined } }, {}, true],
    ['a matching annotation', { annotations: { note: 'x' } }, { metadata: { annotations: { note: 'x' } } }, true],
    ['a missing annotation', { annotations: { note: PRESENT } }, {}, false],
    ['a field that exists', { field: 'spec.size' }, {}, true],
    ['a field that does not exist', { field: 'spec.colour' }, {}, false],
    ['a matching value', { field: 'spec.size', value: 1 }, {}, true],
    ['another value', { field: 'spec.size', value: 2 }, {}, false],
    ['a value matched by a function', { field: 'spec.size', value: (size: number) => size > 0 }, {}, true],
    ['a value that must be ABSENT', { field: 'spec.colour', value: ABSENT }, {}, true],
    ['a when function', { when: ({ spec }: { spec: Tree }) => spec['size'] === 1 }, {}, true],
    ['a when function of the operation', { when: (args: Tree) => args['operation'] === 'DELETE' }, {}, false],
  ])('an admission handler is filtered by %s', async (_name, options, fields, isCalled) => {
    const door = await startWith(operatorOf({ check: options }))
    const { warnings = [] } = await door.ask({ object: widget(lab, fields) })
    expect(warnings).toEqual(isCalled ? ['check'] : [])
  })

  const labelled = (labels: Tree) => ({ metadata: { labels } })
  test.each<[string, object, Tree, Tree, boolean]>([
    ['a label that is removed', { labels: { app: 'web' } }, labelled({ app: 'web' }), {}, true],
    ['a label that is changed', { labels: { app: 'web' } }, labelled({ app: 'web' }), labelled({ app: 'db' }), true],
    ['a label that is added', { labels: { app: 'web' } }, {}, labelled({ app: 'web' }), true],
    ['a label that neither state has', { labels: { app: 'web' } }, labelled({ app: 'db' }), {}, false],
    ['a label that must be ABSENT and is added', { labels: { app: ABSENT } }, {}, labelled({ app: 'web' }), true],
    [
      'two labels that no state has together',
      { labels: { app: 'web', tier: 'front' } },
      labelled({ app: 'web' }),
      labelled({ tier: 'front' }),
      false,
    ],
    [
      'an annotation that is removed',
      { annotations: { note: 'x' } },
      { metadata: { annotations: { note: 'x' } } },
      {},
      true,
    ],
    ['a field that is removed', { field: 'spec.colour' }, { spec: { colour: 'red' } }, { spec: {} }, true],
    ['a value that is changed', { field: 'spec.size', value: 1 }, { spec: { size: 1 } }, { spec: { size: 2 } }, true],
    [
      'a value that neither state has',
      { field: 'spec.size', value: 3 },
      { spec: { size: 1 } },
      { spec: { size: 2 } },
      false,
    ],
    [
      'a when function of the old spec',
      { when: ({ spec }: { spec: Tree }) => spec['size'] === 1 },
      { spec: { size: 1 } },
      { spec: { size: 2 } },
      true,
    ],
    [
      'a when function of the old labels',
      { when: ({ labels, meta, body }: { labels: Tree; meta: Tree; body: Tree }) => labels['app'] && meta && body },
      labelled({ app: 'web' }),
      {},
      true,
    ],
    [
      'a when function that gets old and new in both calls',
      { when: ({ old, new: now }: { old: Tree; new: Tree }) => old['spec'] === undefined || now['spec'] === undefined },
      { spec: { size: 1 } },
      { spec: { size: 2 } },
      false,
    ],
  ])('an admission handler of an update is filtered by %s', async (_name, options, before, after, isCalled) => {
    const door = await startWith(operatorOf({ check: options }))
    const update = { operation: 'UPDATE', oldObject: widget(lab, before), object: widget(lab, after) }
    expect((await door.ask(update)).warnings ?? []).toEqual(isCalled ? ['check'] : [])
  })

  test('filters of an update see the new state first, then the old one, and the handler gets the new one', async () => {
    const states: unknown[] = []
    const kopf = new Operator()
    const when = ({ spec, labels, old, new: now, operation }: Tree) => {
      states.push([spec, labels, (old as Tree)['spec'], (now as Tree)['spec'], operation])
      return (spec as Tree)['size'] === 1
    }
    const given: unknown[] = []
    kopf.on.mutate(lab.widgets, { id: 'check', when: when as never }, ({ body, spec, name }) => {
      given.push(body['spec'], spec, name)
    })
    const door = await startWith(kopf)
    const oldObject = widget(lab, { spec: { size: 1 }, ...labelled({ app: 'web' }) })
    await door.ask({ operation: 'UPDATE', oldObject, object: widget(lab, { spec: { size: 2 } }) })
    expect(states).toEqual([
      [{ size: 2 }, {}, { size: 1 }, { size: 2 }, 'UPDATE'],
      [{ size: 1 }, { app: 'web' }, { size: 1 }, { size: 2 }, 'UPDATE'],
    ])
    expect(given).toEqual([{ size: 2 }, { size: 2 }, 'one'])
  })

  test('filters of a deletion see the object that would be deleted', async () => {
    const door = await startWith(operatorOf({ check: { labels: { app: 'web' } } }))
    const oldObject = widget(lab, { metadata: { labels: { app: 'web' } } })
    const { warnings } = await door.ask({ operation: 'DELETE', object: null, oldObject })
    expect(warnings).toEqual(['check'])
  })

  test('a when filter gets all arguments of the request but not those of a call, such as patch', async () => {
    let names: string[] = []
    const door = await startWith(operatorOf({ check: { when: (args: object) => (names = Object.keys(args)) } }))
    await door.ask()
    expect(names).toEqual(
      expect.arrayContaining(['dryrun', 'userinfo', 'headers', 'sslpeer', 'old', 'new', 'diff', 'memo', 'client']),
    )
    expect(names).not.toEqual(expect.arrayContaining(['patch']))
    expect(names).not.toEqual(expect.arrayContaining(['warnings']))
  })

  test('a filter that throws fails its review with the id of the handler, and no other review', async () => {
    const when = ({ spec }: { spec: { size: number } }) => {
      if (spec.size === 1) throw new Error('no idea')
      return true
    }
    const door = await startWith(operatorOf({ check: { when }, other: {} }))
    await expect(door.ask()).rejects.toThrow(
      `Cannot tell whether handler "check" is for "${lab.namespace}/one": its "when" filter failed: no idea`,
    )
    await expect(door.ask()).rejects.toBeInstanceOf(KopfError)
    expect(lab.logs.some((line) => line.includes('A review has failed: Cannot tell'))).toBe(true)
    expect((await door.ask({ object: widget(lab, { spec: { size: 2 } }) })).warnings).toEqual(['check', 'other'])
    expect((await door.ask({}, { webhook: 'other' })).warnings).toEqual(['other'])
  })
})

describe('subresources', () => {
  test.each([
    [undefined, ['main', 'any']],
    ['', ['main', 'any']],
    ['status', ['status', 'any']],
    ['scale', ['any']],
  ])('a request for the subresource %j calls the handlers %j', async (subResource, called) => {
    const handlers = { main: {}, status: { subresource: 'status' }, any: { subresource: '*' } }
    const door = await startWith(operatorOf(handlers))
    const { warnings } = await door.ask(subResource === undefined ? {} : { subResource })
    expect(warnings).toEqual(called)
  })
})

describe('deletions', () => {
  const deletion = () => ({ operation: 'DELETE', object: null, oldObject: widget(lab) })
  const handlers = {
    all: {},
    both: { operations: ['UPDATE', 'DELETE'] },
    only: { operations: ['DELETE'] },
    twice: { operations: ['DELETE', 'DELETE'] },
  }

  test('deletions are reviewed by all validating handlers', async () => {
    const door = await startWith(operatorOf(handlers))
    expect((await door.ask(deletion())).warnings).toEqual(['all', 'both', 'only', 'twice'])
  })

  test('deletions are reviewed only by mutating handlers that are registered for DELETE alone', async () => {
    const door = await startWith(operatorOf(handlers, 'mutate'))
    expect((await door.ask(deletion())).warnings).toEqual(['only', 'twice'])
  })
})

describe('webhook paths', () => {
  const handlers = { 'first/spec.size': {}, 'Second One': {}, third: { labels: { app: 'web' } } }

  test.each([
    ['the id of a handler calls that handler', 'first/spec.size', ['first/spec.size']],
    ['an id with capitals and spaces calls that handler', 'Second One', ['Second One']],
    ['the id of a handler whose filters do not match allows the request', 'third', undefined],
    ['no id calls all handlers', undefined, ['first/spec.size', 'Second One']],
  ])('a webhook path with %s', async (_name, webhook, called) => {
    const door = await startWith(operatorOf(handlers))
    const { allowed, warnings } = await door.ask({}, webhook === undefined ? {} : { webhook })
    expect({ allowed, warnings }).toEqual({ allowed: true, warnings: called })
  })

  test('a webhook path in the configuration calls its handler even if the id has special characters', async () => {
    const door = await startWith(operatorOf({ 'Odd Id/ä': {} }))
    const configured = new URL(String(await configuredUrl())).pathname.replace('/base/', '')
    const { warnings } = await door.ask({}, { webhook: decodeURIComponent(configured) })
    expect(warnings).toEqual(['Odd Id/ä'])
  })

  test.each([
    ['of no handler', 'fourth', '/fourth'],
    ['of an empty id', '', '/'],
    ['of a long id', 'x'.repeat(5000), `/${'x'.repeat(100)}`],
  ])('a webhook path %s is answered with 404, without other ids in the response', async (_name, webhook, shown) => {
    const door = await startWith(operatorOf(handlers))
    const { status, message } = await refusalOf(door.ask({}, { webhook }))
    expect(status).toBe(404)
    expect(message).toBe(
      `Cannot review widgets.v1.${lab.group}: there is no admission handler for it at the path "${shown}"; the operator logs the paths ` +
        'of all handlers when it starts',
    )
    expect(lab.logs).toContain(message)
  })

  test('a webhook path of a handler for another subresource allows the request, like in Kopf', async () => {
    const door = await startWith(operatorOf({ main: {}, status: { subresource: 'status' } }))
    expect((await door.ask({ subResource: 'status' }, { webhook: 'main' })).warnings).toBeUndefined()
    expect((await door.ask({ subResource: 'status' }, { webhook: 'status' })).warnings).toEqual(['status'])
  })

  test('a webhook path of a handler for another resource is answered with 404', async () => {
    const kopf = operatorOf(handlers)
    kopf.on.validate('configmaps', { id: 'elsewhere' }, () => {})
    const door = await startWith(kopf)
    expect((await refusalOf(door.ask({}, { webhook: 'elsewhere' }))).status).toBe(404)
  })

  test('a webhook path of a resource without admission handlers is answered with 404', async () => {
    const door = await startWith(operatorOf(handlers))
    const resource = { group: '', version: 'v1', resource: 'pods' }
    expect(await refusalOf(door.ask({ resource }, { webhook: 'third' }))).toEqual({
      status: 404,
      message: 'Cannot review pods.v1: the operator has no admission handlers for them',
    })
  })

  /** The URL of the webhook, taken from the log. */
  async function configuredUrl(): Promise<string | undefined> {
    await lab.untilLogged('Webhook of the validate handler')
    return lab.logs
      .find((line) => line.includes('Webhook of the validate handler'))
      ?.split(': ')
      .at(-1)
  }
})

describe('admission handler registration', () => {
  test('a function registered for several resources is called for each of them', async () => {
    const kopf = new Operator()
    const called: unknown[] = []
    function check({ resource, operation }: { resource: { plural: string }; operation: string }): void {
      called.push([resource.plural, operation])
    }
    kopf.on.validate(lab.widgets, check)
    kopf.on.validate('configmaps', check)
    const door = await startWith(kopf)
    const resource = { group: '', version: 'v1', resource: 'configmaps' }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: lab.namespace } }
    await door.ask({}, { webhook: 'check' })
    await door.ask({ resource, object }, { webhook: 'check' })
    await door.ask({ operation: 'DELETE', object: null, oldObject: widget(lab) }, { webhook: 'check' })
    expect(called).toEqual([
      ['widgets', 'CREATE'],
      ['configmaps', 'CREATE'],
      ['widgets', 'DELETE'],
    ])
  })

  test('a function that mutates and validates needs two ids, since the webhook path consists of the id', () => {
    const kopf = new Operator()
    const check = () => {}
    kopf.on.validate(lab.widgets, check)
    expect(() => kopf.on.mutate(lab.widgets, check)).toThrow(
      /Cannot register a second "mutate" handler with the id "check" .*: the API server calls them by the id; give one of them/,
    )
    kopf.on.mutate(lab.widgets, { id: 'complete' }, check)
  })

  test('a handler for EVERYTHING reviews all resources', async () => {
    const kopf = new Operator()
    kopf.on.validate(EVERYTHING, ({ warnings, resource }) => void warnings.push(resource.plural))
    const door = await startWith(kopf)
    const resource = { group: '', version: 'v1', resource: 'pods' }
    expect((await door.ask()).warnings).toEqual(['widgets'])
    expect((await door.ask({ resource })).warnings).toEqual(['pods'])
  })

  test('two admission handlers with the same id are refused even if they are of different types', () => {
    const kopf = new Operator()
    kopf.on.validate(lab.widgets, { id: 'check' }, () => {})
    const again = () => kopf.on.mutate(lab.widgets, { id: 'check' }, () => {})
    expect(again).toThrow(
      /Cannot register a second "mutate" handler with the id "check" .*: the API server calls them by the id/,
    )
    // A change handler may have the same id: it has no webhook path.
    kopf.on.create(lab.widgets, { id: 'check' }, () => {})
    kopf.on.validate('configmaps', { id: 'check' }, () => {})
  })

  test('admission handlers of included operators and plugins are called like its own', async () => {
    const kopf = operatorOf({ ours: {} })
    kopf.use(operatorOf({ theirs: {} }))
    kopf.use((plugin) =>
      plugin.on.mutate(lab.widgets, { id: 'plugged' }, ({ warnings }) => void warnings.push('plugged')),
    )
    const door = await startWith(kopf)
    expect((await door.ask()).warnings).toEqual(['ours', 'theirs', 'plugged'])
    expect((await door.ask({}, { webhook: 'theirs' })).warnings).toEqual(['theirs'])
  })

  test.each<[string, object, string]>([
    ['an unknown operation', { operations: ['create'] }, 'there are CREATE, UPDATE, DELETE, CONNECT'],
    ['no operation', { operations: [] }, 'leave it out for all operations'],
    [
      'operations that are not a list',
      { operations: 'CREATE' },
      '"operations" must be a list such as ["CREATE", "UPDATE"]',
    ],
    [
      'a subresource with a slash',
      { subresource: 'pods/status' },
      '"subresource" must be a name such as "status", or "*"',
    ],
    ['an empty subresource', { subresource: '' }, '"subresource" must be a name'],
    ['a persistent option that is not a boolean', { persistent: 'yes' }, '"persistent" is true or false'],
    ['a sideEffects option that is not a boolean', { sideEffects: 1 }, '"sideEffects" is true or false'],
    ['an ignoreFailures option that is not a boolean', { ignoreFailures: null }, '"ignoreFailures" is true or false'],
    ['retries', { retries: 3 }, 'it has no option "retries"'],
    ['an old value', { field: 'spec.size', old: 1 }, 'it has no option "old"'],
    ['a value without a field', { value: 1 }, '"value" needs a "field" to look at'],
    ['a misspelt option', { sideEffect: true }, 'did you mean "sideEffects"?'],
  ])('registering an admission handler with %s is refused', (_name, options, words) => {
    for (const kind of ['validate', 'mutate'] as const) {
      expect(() => operatorOf({ check: options }, kind)).toThrow(words)
      expect(() => operatorOf({ check: options }, kind)).toThrow(`Cannot register a "${kind}" handler for widgets.v1`)
    }
  })
})
