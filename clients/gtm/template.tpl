___TERMS_OF_SERVICE___

By creating or modifying this file you agree to Google Tag Manager's Community
Template Gallery Developer Terms of Service available at
https://developers.google.com/tag-manager/gallery-tos (or such other URL as
Google may provide), as modified from time to time.


___INFO___

{
  "type": "TAG",
  "id": "cvt_temp_public_id",
  "version": 1,
  "securityGroups": [],
  "displayName": "ProductRecs event",
  "categories": ["PERSONALIZATION", "ANALYTICS"],
  "brand": {
    "id": "brand_dummy",
    "displayName": ""
  },
  "description": "Sends product views, cart additions and purchases to ProductRecs, from the data layer's ecommerce object (GA4) or from variables. The page has the script of the ProductRecs widgets.",
  "containerContexts": ["WEB"]
}


___TEMPLATE_PARAMETERS___

[
  {
    "type": "SELECT",
    "name": "event",
    "displayName": "Event",
    "macrosInSelect": false,
    "selectItems": [
      {"value": "ga4", "displayValue": "From the data layer (GA4 ecommerce)"},
      {"value": "detail-page-view", "displayValue": "A product's page is shown"},
      {"value": "add-to-cart", "displayValue": "A product was added to the cart"},
      {"value": "buy", "displayValue": "A product was bought"},
      {"value": "category-view", "displayValue": "A category's page is shown"}
    ],
    "simpleValueType": true,
    "defaultValue": "ga4",
    "help": "From the data layer: view_item, add_to_cart and purchase are sent, each product with its item_id. Other events of the data layer send nothing.",
    "valueValidators": [{"type": "NON_EMPTY"}]
  },
  {
    "type": "TEXT",
    "name": "itemId",
    "displayName": "Product id",
    "simpleValueType": true,
    "help": "The id of the product in ProductRecs; for a category, its name.",
    "valueValidators": [
      {"type": "NON_EMPTY"},
      {"type": "STRING_LENGTH", "args": [1, 256]}
    ],
    "enablingConditions": [{"paramName": "event", "paramValue": "ga4", "type": "NOT_EQUALS"}]
  },
  {
    "type": "TEXT",
    "name": "price",
    "displayName": "Price of one",
    "simpleValueType": true,
    "valueHint": "19.90",
    "enablingConditions": [
      {"paramName": "event", "paramValue": "add-to-cart", "type": "EQUALS"},
      {"paramName": "event", "paramValue": "buy", "type": "EQUALS"}
    ],
    "valueValidators": [{"type": "REGEX", "args": ["^([0-9]+([.][0-9]+)?)?$"], "errorMessage": "Enter a number such as 19.90"}]
  },
  {
    "type": "TEXT",
    "name": "quantity",
    "displayName": "Quantity",
    "simpleValueType": true,
    "defaultValue": "1",
    "enablingConditions": [
      {"paramName": "event", "paramValue": "add-to-cart", "type": "EQUALS"},
      {"paramName": "event", "paramValue": "buy", "type": "EQUALS"}
    ],
    "valueValidators": [{"type": "POSITIVE_NUMBER"}]
  },
  {
    "type": "TEXT",
    "name": "currency",
    "displayName": "Currency",
    "simpleValueType": true,
    "valueHint": "EUR",
    "enablingConditions": [
      {"paramName": "event", "paramValue": "add-to-cart", "type": "EQUALS"},
      {"paramName": "event", "paramValue": "buy", "type": "EQUALS"}
    ],
    "valueValidators": [{"type": "REGEX", "args": ["^([A-Z]{3})?$"], "errorMessage": "Enter three capital letters, such as EUR"}]
  },
  {
    "type": "TEXT",
    "name": "orderId",
    "displayName": "Order id",
    "simpleValueType": true,
    "enablingConditions": [{"paramName": "event", "paramValue": "buy", "type": "EQUALS"}],
    "valueValidators": [{"type": "NON_EMPTY"}]
  },
  {
    "type": "TEXT",
    "name": "customerId",
    "displayName": "Customer id",
    "simpleValueType": true,
    "help": "Your own id of a customer who is signed in, never an e-mail address. Empty: the session's id is sent."
  }
]


___SANDBOXED_JS_FOR_WEB_TEMPLATE___

const callInWindow = require('callInWindow');
const copyFromDataLayer = require('copyFromDataLayer');
const copyFromWindow = require('copyFromWindow');
const createArgumentsQueue = require('createArgumentsQueue');
const getType = require('getType');
const makeNumber = require('makeNumber');
const makeString = require('makeString');
const setInWindow = require('setInWindow');

// The events of GA4 that are sent, and their names.
const EVENTS = {
  view_item: 'detail-page-view',
  add_to_cart: 'add-to-cart',
  purchase: 'buy'
};

const textOf = (value) => {
  const kind = getType(value);
  return kind === 'string' || kind === 'number' ? makeString(value) : '';
};

const numberOf = (value) => {
  const number = textOf(value) === '' ? undefined : makeNumber(value);
  return number >= 0 ? number : undefined;
};

// Calls the widgets' script; until it has loaded, the calls wait in its queue.
const send = (event, fields) => {
  if (getType(copyFromWindow('ProductRecs.track')) === 'function') {
    callInWindow('ProductRecs.track', event, fields);
    return;
  }
  if (!copyFromWindow('ProductRecs')) setInWindow('ProductRecs', {}, false);
  const queue = createArgumentsQueue('ProductRecs.track', 'ProductRecs.q');
  queue(event, fields);
};

const track = (event, itemId, price, quantity, currency, orderId) => {
  if (!itemId) return false;
  const fields = {item_id: itemId};
  const customer = textOf(data.customerId);
  if (customer) fields.user_id = customer;
  if (event === 'add-to-cart' || event === 'buy') {
    fields.quantity = quantity > 0 ? quantity : 1;
    if (price !== undefined) fields.value = price * fields.quantity;
    if (currency) fields.currency = currency;
    if (event === 'buy' && orderId) fields.order_id = orderId;
  }
  send(event, fields);
  return true;
};

const trackDataLayer = () => {
  const event = EVENTS[textOf(copyFromDataLayer('event'))];
  const ecommerce = copyFromDataLayer('ecommerce');
  if (!event) return true;
  const items = getType(ecommerce) === 'object' && ecommerce.items;
  if (getType(items) !== 'array' || items.length === 0) return false;
  // A page is of one product; a cart or an order may have several.
  const count = event === 'detail-page-view' ? 1 : items.length;
  let isWhole = true;
  for (let i = 0; i < count; i++) {
    const item = getType(items[i]) === 'object' ? items[i] : {};
    const currency = textOf(ecommerce.currency) || textOf(item.currency);
    const isSent = track(event, textOf(item.item_id), numberOf(item.price),
        numberOf(item.quantity), currency, textOf(ecommerce.transaction_id));
    isWhole = isWhole && isSent;
  }
  return isWhole;
};

const isSent = data.event === 'ga4' ? trackDataLayer() :
    track(data.event, textOf(data.itemId), numberOf(data.price), numberOf(data.quantity),
        textOf(data.currency), textOf(data.orderId));
if (isSent) data.gtmOnSuccess();
else data.gtmOnFailure();


___WEB_PERMISSIONS___

[
  {
    "instance": {
      "key": {"publicId": "access_globals", "versionId": "1"},
      "param": [
        {
          "key": "keys",
          "value": {
            "type": 2,
            "listItem": [
              {
                "type": 3,
                "mapKey": [
                  {"type": 1, "string": "key"},
                  {"type": 1, "string": "read"},
                  {"type": 1, "string": "write"},
                  {"type": 1, "string": "execute"}
                ],
                "mapValue": [
                  {"type": 1, "string": "ProductRecs"},
                  {"type": 8, "boolean": true},
                  {"type": 8, "boolean": true},
                  {"type": 8, "boolean": false}
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {"type": 1, "string": "key"},
                  {"type": 1, "string": "read"},
                  {"type": 1, "string": "write"},
                  {"type": 1, "string": "execute"}
                ],
                "mapValue": [
                  {"type": 1, "string": "ProductRecs.track"},
                  {"type": 8, "boolean": true},
                  {"type": 8, "boolean": true},
                  {"type": 8, "boolean": true}
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {"type": 1, "string": "key"},
                  {"type": 1, "string": "read"},
                  {"type": 1, "string": "write"},
                  {"type": 1, "string": "execute"}
                ],
                "mapValue": [
                  {"type": 1, "string": "ProductRecs.q"},
                  {"type": 8, "boolean": true},
                  {"type": 8, "boolean": true},
                  {"type": 8, "boolean": false}
                ]
              }
            ]
          }
        }
      ]
    },
    "clientAnnotations": {"isEditedByUser": true},
    "isRequired": true
  },
  {
    "instance": {
      "key": {"publicId": "read_data_layer", "versionId": "1"},
      "param": [
        {"key": "allowedKeys", "value": {"type": 1, "string": "specific"}},
        {
          "key": "keyPatterns",
          "value": {
            "type": 2,
            "listItem": [
              {"type": 1, "string": "event"},
              {"type": 1, "string": "ecommerce"}
            ]
          }
        }
      ]
    },
    "clientAnnotations": {"isEditedByUser": true},
    "isRequired": true
  }
]


___TESTS___

scenarios:
- name: Each product of a purchase is sent
  code: |-
    dataLayer = {
      event: 'purchase',
      ecommerce: {
        transaction_id: 'A-7', currency: 'EUR',
        items: [{item_id: 'tent', price: 149, quantity: 1}, {item_id: 12, price: '2.5', quantity: 4}]
      }
    };
    runCode({event: 'ga4', customerId: 'c-1'});
    assertThat(calls).isEqualTo([
      ['buy', {item_id: 'tent', user_id: 'c-1', quantity: 1, value: 149, currency: 'EUR', order_id: 'A-7'}],
      ['buy', {item_id: '12', user_id: 'c-1', quantity: 4, value: 10, currency: 'EUR', order_id: 'A-7'}]
    ]);
    assertApi('gtmOnSuccess').wasCalled();
- name: A view is of one product and has no price
  code: |-
    dataLayer = {event: 'view_item', ecommerce: {items: [{item_id: 'tent', price: 149}, {item_id: 'stove'}]}};
    runCode({event: 'ga4'});
    assertThat(calls).isEqualTo([['detail-page-view', {item_id: 'tent'}]]);
- name: Other events of the data layer send nothing
  code: |-
    dataLayer = {event: 'scroll', ecommerce: {items: [{item_id: 'tent'}]}};
    runCode({event: 'ga4'});
    assertThat(calls).isEqualTo([]);
    assertApi('gtmOnSuccess').wasCalled();
- name: A data layer without products fails
  code: |-
    dataLayer = {event: 'add_to_cart', ecommerce: {items: []}};
    runCode({event: 'ga4'});
    assertApi('gtmOnFailure').wasCalled();
    dataLayer = {event: 'add_to_cart', ecommerce: {items: [{item_name: 'Tent'}]}};
    runCode({event: 'ga4'});
    assertThat(calls).isEqualTo([]);
    assertApi('gtmOnSuccess').wasNotCalled();
- name: Variables are sent as they are named
  code: |-
    runCode({event: 'add-to-cart', itemId: 'tent', price: '19.90', quantity: '2', currency: 'EUR'});
    runCode({event: 'category-view', itemId: 'Tents', price: '1'});
    assertThat(calls).isEqualTo([
      ['add-to-cart', {item_id: 'tent', quantity: 2, value: 39.8, currency: 'EUR'}],
      ['category-view', {item_id: 'Tents'}]
    ]);
- name: Before the widgets' script has loaded, the call waits in its queue
  code: |-
    page = {};
    runCode({event: 'detail-page-view', itemId: 'tent'});
    assertThat(page.ProductRecs).isEqualTo({});
    assertThat(queued).isEqualTo([['detail-page-view', {item_id: 'tent'}]]);
setup: |-
  let dataLayer = {};
  let page = {ProductRecs: {}, 'ProductRecs.track': () => {}};
  const calls = [];
  const queued = [];
  mock('copyFromDataLayer', (key) => dataLayer[key]);
  mock('copyFromWindow', (key) => page[key]);
  mock('setInWindow', (key, value) => { page[key] = value; });
  mock('callInWindow', (key, event, fields) => { calls.push([event, fields]); });
  mock('createArgumentsQueue', () => (event, fields) => { queued.push([event, fields]); });


___NOTES___

Where a widget of the page names its product (data-item-id), it reports the view itself:
send no view_item from this tag there.
