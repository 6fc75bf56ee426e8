/** The views of the dashboard on a phone and on a desktop, in light and in dark, and with the keyboard alone. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkAccessibility } from './accessibility.ts'
import {
  database,
  launchBrowser,
  openViewer,
  overflowOf,
  type Stage,
  startStage,
  type Viewer,
} from './dashboard-support.ts'

/** The narrowest window that WCAG 2.2 asks for (1.4.10, reflow). */
const phone = { width: 320, height: 640 }
const desktop = { width: 1280, height: 800 }

const orders = '#/object?resource=configmaps.v1&namespace=default&name=orders'

const views: readonly (readonly [hash: string, heading: string])[] = [
  ['#/overview', 'Overview'],
  ['#/objects', 'Objects'],
  [orders, 'orders'],
  ['#/handlers', 'Handlers'],
  ['#/requests', 'Requests'],
  ['#/webhooks', 'Webhooks'],
  ['#/problems', 'Problems'],
]

let browser: Browser
let stage: Stage

beforeAll(async () => {
  stage = await startStage()
  browser = await launchBrowser()
  const { cluster } = stage
  await cluster.create('configmaps', { name: 'orders', labels: database, data: { size: '1' } })
  await cluster.until('configmaps', 'orders', { metadata: { labels: { provisioned: 'yes' } } })
  await cluster.patch('configmaps', 'orders', { data: { size: '2' } })
  await cluster.create('configmaps', { name: 'misspelt', labels: database, data: { engine: 'mysqll' } })
  await cluster.create('serviceaccounts', { name: 'shop', labels: database })
  const denied = cluster.create('configmaps', { name: 'empty', data: { size: '0' } })
  await expect(denied).rejects.toThrow('The size cannot be 0')
}, 180_000)

afterAll(async () => {
  await browser?.close()
  await stage?.[Symbol.asyncDispose]()
})

async function open(page: Page, hash: string, heading: string): Promise<void> {
  await page.goto(stage.url + hash)
  await page.getByRole('heading', { name: heading, level: 1, exact: true }).waitFor()
  await page.getByText('Loading …').waitFor({ state: 'detached' })
}

async function expectAccessible(page: Page): Promise<void> {
  const { violations, passes } = await checkAccessibility(page)
  expect(passes).toContain('color-contrast')
  expect(violations).toEqual([])
  expect(await overflowOf(page)).toBeLessThanOrEqual(0)
}

describe.each([
  ['a phone', 'light', phone],
  ['a phone', 'dark', phone],
  ['a desktop', 'light', desktop],
  ['a desktop', 'dark', desktop],
] as const)('the dashboard on %s, in the %s colour scheme', (_, colorScheme, viewport) => {
  let viewer: Viewer

  beforeAll(async () => {
    // axe is a script that the policy of the page would refuse.
    viewer = await openViewer(browser, stage, { viewport, colorScheme, bypassCSP: true })
    await viewer.page.goto(stage.loginUrl())
    await viewer.page.getByRole('heading', { name: 'Overview' }).waitFor()
  })

  afterAll(() => viewer[Symbol.asyncDispose]())

  test.each(views)('%s fits the window, is accessible, and sends no foreign request', async (hash, heading) => {
    const { page, troubles } = viewer
    await open(page, hash, heading)
    await expectAccessible(page)
    expect(troubles.splice(0)).toEqual([])
  })

  test('dialogs and the login fit the window and are accessible', async () => {
    const { page } = viewer
    await open(page, orders, 'orders')
    await page.getByRole('button', { name: 'Copy the call of provision as a test' }).click()
    await page.getByRole('dialog').waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await using stranger = await openViewer(browser, stage, { viewport, colorScheme, bypassCSP: true })
    await stranger.page.goto(stage.url)
    await stranger.page.getByRole('heading', { name: 'Log in to the dashboard' }).waitFor()
    await expectAccessible(stranger.page)
  })
})

test('the switch of the colours has precedence over the system, and is remembered', async () => {
  await using viewer = await openViewer(browser, stage, { colorScheme: 'dark' })
  const { page } = viewer
  await page.goto(stage.loginUrl())
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
  await page.getByRole('button', { name: 'Colours: system' }).click()
  const light = await background()
  await page.reload()
  await page.getByRole('button', { name: 'Colours: light' }).waitFor()
  expect(await background()).toBe(light)
  await page.getByRole('button', { name: 'Colours: light' }).click()
  expect(await background()).not.toBe(light)
})

test('a user finds an object, reads it and starts an action with the keyboard alone', async () => {
  await using viewer = await openViewer(browser, stage)
  const { page, troubles } = viewer
  const { keyboard } = page
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '')
  await page.goto(stage.loginUrl())
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await keyboard.press('Tab')
  expect(await focused()).toBe('Skip to the content')
  await keyboard.press('Enter')
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('main')
  await keyboard.press('g')
  await keyboard.press('h')
  await page.getByRole('heading', { name: 'Handlers', level: 1 }).waitFor()
  await keyboard.press('/')
  await page.getByLabel('Filter by text').waitFor()
  await page.waitForFunction(() => document.activeElement?.matches('[data-filter]'))
  await keyboard.type('ord')
  await page.getByText('1 object', { exact: true }).waitFor()
  await keyboard.press('Escape')
  const list = page.getByRole('region', { name: 'List of objects' })
  for (let step = 0; step < 20 && !(await list.evaluate((one) => one === document.activeElement)); step += 1) {
    await keyboard.press('Tab')
  }
  await keyboard.press('ArrowDown')
  expect(await focused()).toContain('orders')
  await keyboard.press('Enter')
  await page.getByRole('heading', { name: 'orders', level: 1 }).waitFor()
  const retry = page.getByRole('button', { name: 'Retry now' })
  for (let step = 0; step < 20 && !(await retry.evaluate((one) => one === document.activeElement)); step += 1) {
    await keyboard.press('Tab')
  }
  await keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Retry the failed handlers now?' })
  await dialog.waitFor()
  await keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(await focused()).toBe('Retry now')
  expect(troubles).toEqual([])
})
