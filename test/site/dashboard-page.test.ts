/** The page of the dashboard in a real browser, on an operator that runs on the embedded server. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { database, launchBrowser, openViewer, type Stage, startStage, type Viewer } from './dashboard-support.ts'

let browser: Browser
let stage: Stage

beforeAll(async () => {
  stage = await startStage()
  browser = await launchBrowser()
}, 180_000)

afterAll(async () => {
  await browser?.close()
  await stage?.[Symbol.asyncDispose]()
})

/** A browser that has logged in with a code. */
async function logIn(): Promise<Viewer> {
  const viewer = await openViewer(browser, stage)
  await viewer.page.goto(stage.loginUrl())
  await viewer.page.getByRole('heading', { name: 'Overview' }).waitFor()
  return viewer
}

const objectHash = (name: string) => `#/object?resource=configmaps.v1&namespace=default&name=${name}`

async function open(page: Page, hash: string, heading: string): Promise<void> {
  await page.goto(stage.url + hash)
  await page.getByRole('heading', { name: heading, level: 1, exact: true }).waitFor()
}

async function logInWithToken(page: Page, token: string): Promise<void> {
  await page.goto(stage.url)
  await page.getByLabel('Bearer token').fill(token)
  await page.getByRole('button', { name: 'Log in' }).click()
}

describe('the login', () => {
  test('the address with a code logs a developer in, and the code disappears from the address', async () => {
    await using viewer = await logIn()
    const { page, troubles } = viewer
    expect(page.url()).toBe(stage.url)
    expect(await page.getByRole('button', { name: 'Log out developer' }).count()).toBe(1)
    expect(troubles).toEqual([])
  })

  test('a code that was used before leads to the form for a token', async () => {
    const address = stage.loginUrl()
    await using first = await openViewer(browser, stage)
    await first.page.goto(address)
    await first.page.getByRole('heading', { name: 'Overview' }).waitFor()
    await using second = await openViewer(browser, stage)
    await second.page.goto(address)
    await second.page.getByRole('heading', { name: 'This login address is not valid' }).waitFor()
    expect(await second.page.getByRole('alert').textContent()).toContain('the code was used before')
  })

  test('a user logs in with a token of the cluster, and a wrong token is explained', async () => {
    const token = await stage.tokenOf('reader', ['get', 'list', 'watch'])
    await using viewer = await openViewer(browser, stage)
    const { page } = viewer
    await logInWithToken(page, 'not-a-token')
    await page.getByRole('alert').filter({ hasText: 'does not accept the token' }).waitFor()
    await logInWithToken(page, token)
    await page.getByRole('button', { name: 'Log out system:serviceaccount:default:reader' }).waitFor()
  })

  test('after a logout in another tab, the page asks for a login, and returns to its view', async () => {
    await using viewer = await logIn()
    const { page, context } = viewer
    await open(page, '#/handlers', 'Handlers')
    const other = await context.newPage()
    await open(other, '#/requests', 'Requests')
    await other.getByRole('button', { name: 'Log out' }).click()
    await other.getByRole('heading', { name: 'You are logged out' }).waitFor()
    await page.getByRole('link', { name: 'Problems' }).click()
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
    await page.getByLabel('Bearer token').fill(await stage.tokenOf('returning', ['get', 'list']))
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'Problems', exact: true }).waitFor()
  })
})

describe('live data', () => {
  test('a handler that fails is shown without a reload, with what to do', async () => {
    await using viewer = await logIn()
    const { page, troubles } = viewer
    await open(page, '#/problems', 'Problems')
    await stage.cluster.create('configmaps', { name: 'misspelt', labels: database, data: { engine: 'mysqll' } })
    const problem = page.getByRole('listitem').filter({ hasText: 'The engine "mysqll" is not known' }).first()
    await problem.waitFor()
    expect(await problem.textContent()).toContain('What to do:')
    await problem.getByRole('link', { name: 'misspelt' }).click()
    await page.getByRole('heading', { name: 'misspelt', level: 1 }).waitFor()
    expect(troubles).toEqual([])
  })

  test('the page of an object has the attempts, the changed fields, and the verdict for each handler', async () => {
    await stage.cluster.create('configmaps', { name: 'orders', labels: database, data: { size: '1' } })
    await stage.cluster.until('configmaps', 'orders', { metadata: { labels: { provisioned: 'yes' } } })
    await using viewer = await logIn()
    const { page, troubles } = viewer
    await open(page, objectHash('orders'), 'orders')
    const timeline = page.getByRole('region', { name: 'Timeline' })
    await timeline.getByText('provision', { exact: true }).first().waitFor()
    await stage.cluster.patch('configmaps', 'orders', { data: { size: '2' } })
    await timeline.getByRole('heading', { name: /Changed: data\.size/ }).waitFor()
    await timeline.getByText('The disk is busy').waitFor()
    await page.getByText(/next attempt in \d+ min/).waitFor()
    const handlers = page.getByRole('region', { name: 'Handlers' })
    expect(await handlers.getByRole('listitem').filter({ hasText: 'archive' }).textContent()).toContain(
      'The label "tier" does not match',
    )
    expect(await page.getByRole('region', { name: 'Log' }).textContent()).toContain('The database is being provisioned')
    expect(troubles).toEqual([])
  })

  test('unimportant entries can be shown, and the order of the timeline can be changed', async () => {
    await stage.cluster.create('configmaps', { name: 'shuffled', labels: database })
    await using viewer = await logIn()
    const { page } = viewer
    await open(page, objectHash('shuffled'), 'shuffled')
    const timeline = page.getByRole('region', { name: 'Timeline' })
    await timeline.getByText('provision', { exact: true }).first().waitFor()
    const entries = timeline.locator('.entry')
    const few = await entries.count()
    await timeline.getByLabel('Only important').uncheck()
    expect(await entries.count()).toBeGreaterThan(few)
    const times = timeline.locator('.group > h3 time')
    const newest = await times.first().getAttribute('datetime')
    await timeline.getByLabel('Newest first').uncheck()
    expect(await times.last().getAttribute('datetime')).toBe(newest)
    expect(await times.first().getAttribute('datetime')).not.toBe(newest)
  })

  test('the children of a reconciler are a tree', async () => {
    await stage.cluster.create('serviceaccounts', { name: 'shop', labels: database })
    await stage.cluster.until('configmaps', 'shop-settings', { data: { a: 'b' } })
    await using viewer = await logIn()
    await open(viewer.page, objectHash('shop').replace('configmaps', 'serviceaccounts'), 'shop')
    await viewer.page.getByRole('region', { name: 'Children' }).getByText('shop-settings').waitFor()
  })

  test('a denied review is shown', async () => {
    await using viewer = await logIn()
    await open(viewer.page, '#/webhooks', 'Webhooks')
    const denied = stage.cluster.create('configmaps', { name: 'empty', data: { size: '0' } })
    await expect(denied).rejects.toThrow('The size cannot be 0')
    await viewer.page.getByRole('listitem').getByText('Denied').waitFor()
  })

  test('paused updates stay as they are until the user continues', async () => {
    await using viewer = await logIn()
    const { page } = viewer
    await open(page, '#/objects?text=while-paused', 'Objects')
    await page.getByText('No object matches the filter').waitFor()
    await page.getByRole('button', { name: /Pause/ }).click()
    await page.getByText('Paused').waitFor()
    await stage.cluster.create('secrets', { name: 'while-paused' })
    await page.getByRole('button', { name: /Continue/ }).click()
    await page.getByRole('link', { name: 'while-paused' }).waitFor()
  })
})

describe('copied tests', () => {
  test('a call of a handler is copied as a test with the object as it was', async () => {
    await stage.cluster.create('configmaps', { name: 'copied', labels: database, data: { size: '1' } })
    await stage.cluster.until('configmaps', 'copied', { metadata: { labels: { provisioned: 'yes' } } })
    await using viewer = await logIn()
    const { page } = viewer
    await open(page, objectHash('copied'), 'copied')
    await page.getByRole('button', { name: 'Copy the call of provision as a test' }).click()
    const dialog = page.getByRole('dialog', { name: 'This call as a test' })
    const text = await dialog.getByLabel('Test').inputValue()
    expect(text).toContain("import { runHandler } from 'kopf/testing'")
    expect(text).toContain("    id: 'provision',\n    kind: 'create',\n    body: {\n      apiVersion: 'v1',")
    expect(text).toContain("assert.equal(outcome.type, 'done')")
    // The handler has added the label: the object of the test is that of the time of the call.
    expect(text).not.toContain('provisioned')
    await page.keyboard.press('Escape')
    expect(await dialog.count()).toBe(0)
  })
})

describe('actions', () => {
  async function createRetried(name: string): Promise<void> {
    const { cluster } = stage
    await cluster.create('configmaps', { name, labels: database, data: { size: '1' } })
    await cluster.until('configmaps', name, { metadata: { labels: { provisioned: 'yes' } } })
    await cluster.patch('configmaps', name, { data: { size: '2' } })
  }

  test('an action is confirmed in a dialog, and its result is shown', async () => {
    await createRetried('retried')
    await using viewer = await logIn()
    const { page, troubles } = viewer
    await open(page, objectHash('retried'), 'retried')
    await page.getByRole('button', { name: 'Retry now' }).click()
    const dialog = page.getByRole('dialog', { name: 'Retry the failed handlers now?' })
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(await dialog.count()).toBe(0)
    expect(await page.getByText('1 failed attempt').count()).toBe(1)
    await page.getByRole('button', { name: 'Retry now' }).click()
    await dialog.getByRole('button', { name: 'Retry now' }).click()
    await page.getByText('2 failed attempts').waitFor()
    await page.getByRole('heading', { name: 'Retried now by developer' }).waitFor()
    expect(troubles).toEqual([])
  })
})

describe('users with a token', () => {
  test('without the permission to list a resource, a user is told so instead of seeing its objects', async () => {
    await stage.cluster.create('configmaps', { name: 'private', labels: database })
    await using viewer = await openViewer(browser, stage)
    const { page } = viewer
    await logInWithToken(page, await stage.tokenOf('stranger', ['create']))
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await open(page, '#/objects', 'Objects')
    await page.getByText('There are no objects that you may list').waitFor()
    await page.goto(stage.url + objectHash('private'))
    await page.getByText('You may not see this.').waitFor()
    expect(await page.locator('main').textContent()).toContain('you may neither get nor list it')
  })

  test('a user who may read sees no buttons of actions', async () => {
    await stage.cluster.create('configmaps', { name: 'looked-at', labels: database, data: { size: '1' } })
    await stage.cluster.until('configmaps', 'looked-at', { metadata: { labels: { provisioned: 'yes' } } })
    await stage.cluster.patch('configmaps', 'looked-at', { data: { size: '2' } })
    await using viewer = await openViewer(browser, stage)
    const { page } = viewer
    await logInWithToken(page, await stage.tokenOf('looker', ['get', 'list']))
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await open(page, objectHash('looked-at'), 'looked-at')
    await page.getByText(/next attempt/).waitFor()
    expect(await page.getByRole('button', { name: 'Retry now' }).count()).toBe(0)
  })
})

describe('many objects', () => {
  const count = 10_000

  beforeAll(async () => {
    const names = Array.from({ length: count }, (_, index) => `many-${String(index).padStart(5, '0')}`)
    for (let index = 0; index < count; index += 500) {
      await Promise.all(names.slice(index, index + 500).map((name) => stage.cluster.create('secrets', { name })))
    }
  }, 180_000)

  test('10,000 objects are scrolled and filtered with few rows in the document', async () => {
    await using viewer = await logIn()
    const { page, troubles } = viewer
    await open(page, '#/objects?text=many-', 'Objects')
    await page.getByText('10,000 objects', { exact: true }).waitFor()
    const rows = page.locator('.rows-body .row')
    const list = page.getByRole('region', { name: 'List of objects' })
    expect(await page.getByRole('table', { name: 'Objects' }).getAttribute('aria-rowcount')).toBe('10001')
    await page.getByRole('link', { name: 'many-00000' }).waitFor()
    expect(await rows.count()).toBeLessThan(60)
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await page.getByRole('link', { name: 'many-09999' }).waitFor()
    expect(await rows.count()).toBeLessThan(60)
    await page.getByLabel('Filter by text').fill('many-04711')
    await page.getByText('1 object', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'many-04711' }).waitFor()
    expect(await rows.count()).toBe(1)
    expect(troubles).toEqual([])
  })

  test('a filter is part of the address, which can be sent to another user', async () => {
    await using viewer = await logIn()
    const { page } = viewer
    await open(page, '#/objects', 'Objects')
    await page.getByLabel('Filter by text').fill('many-0471')
    await page.getByLabel('Resource').selectOption('secrets.v1')
    await page.getByRole('button', { name: 'Handled' }).click()
    await page.getByText('10 objects', { exact: true }).waitFor()
    await using other = await logIn()
    await other.page.goto(page.url())
    await other.page.getByText('10 objects', { exact: true }).waitFor()
    expect(await other.page.getByLabel('Filter by text').inputValue()).toBe('many-0471')
  })
})

describe('an operator that does not answer', () => {
  test('the page says that the operator does not answer, and connects again by itself', async () => {
    await using viewer = await logIn()
    const { page } = viewer
    await open(page, '#/handlers', 'Handlers')
    const token = await stage.tokenOf('patient', ['get', 'list'])
    await stage.stopOperator()
    await page.getByText('The operator does not answer').waitFor()
    expect(await page.getByRole('table', { name: 'Handlers' }).count()).toBe(1)
    await stage.restartOperator()
    // The sessions of the former process have ended with it.
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
    await page.getByLabel('Bearer token').fill(token)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'Handlers', exact: true, level: 1 }).waitFor()
    await page.getByText('Live').waitFor()
  })

  test('a page that is opened while the operator does not answer waits for it', async () => {
    await using viewer = await logIn()
    const { page, context } = viewer
    await context.route('**/api/session', (route) => route.abort())
    await page.reload()
    await page.getByRole('heading', { name: 'The operator does not answer' }).waitFor()
    await context.unroute('**/api/session')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
  })

  test('where no stream gets through, the page asks again and again', async () => {
    await using viewer = await logIn()
    const { page, context } = viewer
    await context.route('**/api/stream?**', (route) => route.abort())
    await open(page, '#/objects?text=polled', 'Objects')
    await page.getByText('Live, every 2 s').waitFor()
    await stage.cluster.create('secrets', { name: 'polled' })
    await page.getByRole('link', { name: 'polled' }).waitFor()
  })
})
