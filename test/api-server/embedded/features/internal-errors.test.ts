/** Internal errors, caused by a clock that fails: other requests and the process go on, and the log has the stack. */
import { ApiServer, startServer } from 'kopf/server'
import { expect, test } from 'vitest'
import { systemClock } from '../../../../src/util/async/clock.ts'
import { crd, crdsPath } from '../../../support/crds.ts'
import { eventually } from '../../../support/expectations.ts'
import { ask } from '../../../support/in-process.ts'
import { configMap } from '../../../support/objects.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'

/** A clock that throws where the stack trace contains `failsIn`. */
class FailingClock {
  failsIn = ''
  fails = 0

  now(): number {
    const { stack = '' } = new Error('The clock has stopped')
    if (this.failsIn !== '' && stack.includes(this.failsIn)) {
      this.fails += 1
      throw new Error('The clock has stopped')
    }
    return systemClock.now()
  }

  /** Resolves at once. */
  sleep(_: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(0, signal)
  }
}

class Log {
  readonly lines: string[] = []
  readonly #add = ({ err }: { err?: Error }, message: string) => this.lines.push(`${message}: ${err?.stack}`)
  readonly debug = (): void => {}
  readonly info = (): void => {}
  readonly warn = (): void => {}
  readonly error = this.#add as (fields: object, message: string) => void
}

test('an internal error of a request is answered with 500, and the log has the stack', async () => {
  const clock = new FailingClock()
  const logging = new Log()
  const api = new ApiServer({ clock, logging })
  clock.failsIn = 'prepareCreation'
  const { status, body } = await ask(api, 'POST', `${configMaps}?fieldManager=secret`, { body: configMap('a') })
  expect({ status, message: body['message'] }).toEqual({
    status: 500,
    message: 'Internal error occurred: The clock has stopped',
  })
  expect(logging.lines).toEqual([
    expect.stringMatching(
      /^The embedded API server failed on POST \/api\/v1\/namespaces\/default\/configmaps: Error: The clock/,
    ),
  ])
  expect(logging.lines[0]).toContain('prepareCreation')
  await api.close()
})

test('an internal error that breaks a connection leaves its stack in the log', async () => {
  const clock = new FailingClock()
  const logging = new Log()
  await using server = await startServer({ clock, logging, open: true, insecure: true })
  clock.failsIn = 'ApiServer.answer'
  await expect(fetch(server.url + configMaps)).rejects.toThrow('fetch failed')
  clock.failsIn = ''
  expect(logging.lines).toEqual([expect.stringContaining('The clock has stopped')])
  expect((await fetch(server.url + configMaps)).status).toBe(200)
})

test('an internal error of a controller does not end the server, and the controller retries', async () => {
  const clock = new FailingClock()
  const logging = new Log()
  const api = new ApiServer({ clock, logging })
  clock.failsIn = 'controllers/crds.ts'
  const definition = crd({ group: 'example.com', kind: 'Widget' })
  expect((await ask(api, 'POST', crdsPath, { body: definition })).status).toBe(201)
  await eventually(async () => expect(clock.fails).toBeGreaterThan(1))
  expect(logging.lines[0]).toContain(
    'The controller "customresourcedefinition-controller" of the embedded API server failed on "widgets.example.com"',
  )
  expect((await ask(api, 'POST', configMaps, { body: configMap('a') })).status).toBe(201)
  clock.failsIn = ''
  const widgets = '/apis/example.com/v1/widgets'
  await eventually(async () => expect((await ask(api, 'GET', widgets)).status).toBe(200))
  await api.close()
})
