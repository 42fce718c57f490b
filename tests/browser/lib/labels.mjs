// The labels of buttons, links and fields, so that a journey finds them as a user does.

export const LABELS = {
  zh: {
    checkRules: '看看我能否参与', redeem: '使用邀请码', makeCodes: '生成并下载',
    joinWaitlist: '加入候补', leaveWaitlist: '退出候补', payOffer: '查看订单并付款',
    logIn: '登录', logOut: '退出', register: '注册并登录', logInToBuy: '登录后抢购', soonOpen: '即将开始，不到 1 分钟',
    username: '用户名', password: '密码', other: 'English',
    buy: '立即抢购', notOpen: '尚未开始', soldOut: '已售罄', seeOrder: '查看订单', orders: '我的订单',
    pay: /^去付款/, payAtCashier: '模拟付款成功', decline: '模拟付款失败', cancel: '取消订单', keep: '再想想', reallyCancel: '确认取消',
    addAddress: '添加地址', makeDefault: '设为默认', everywhere: '退出所有设备',
    newGoods: '新建商品', newSale: '新建场次', save: '保存', create: '创建并排期', sales: '场次',
    draft: '存为草稿', schedule: '排期', preview: '预览', refundOrder: '退款', refundPart: '部分退款', pack: '标记已打包', ship: '发货', received: '确认收货', askInvoice: '申请开票', askReturn: '申请退货', acceptReturn: '同意退货', sentBack: '填写退货运单', receiveReturn: '收到退货并退款', dropOrder: '取消订单', block: '停用', unblock: '恢复', createAccount: '新建账号', newPassword: '修改密码',
    start: '立即开始', pause: '暂停', resume: '恢复', stop: '终止', topUp: '加库存', units: '增加数量', close: '取消',
  },
  en: {
    checkRules: 'Check whether you can take part', redeem: 'Use this code', makeCodes: 'Make and download',
    joinWaitlist: 'Join the waitlist', leaveWaitlist: 'Leave the waitlist', payOffer: 'View order and pay',
    logIn: 'Log in', logOut: 'Log out', register: 'Create account', logInToBuy: 'Log in to buy', soonOpen: 'Starts in less than a minute',
    username: 'Username', password: 'Password', other: '中文',
    buy: 'Buy now', notOpen: 'Not open yet', soldOut: 'Sold out', seeOrder: 'View order', orders: 'Orders',
    pay: /^Pay now/, payAtCashier: 'Pay', decline: 'Decline', cancel: 'Cancel order', keep: 'Keep order', reallyCancel: 'Yes, cancel order',
    addAddress: 'Add address', makeDefault: 'Set as default', everywhere: 'Log out of all devices',
    newGoods: 'New product', newSale: 'New sale', save: 'Save', create: 'Create and schedule', sales: 'Sales',
    draft: 'Save as draft', schedule: 'Schedule', preview: 'Preview', refundOrder: 'Refund order', refundPart: 'Refund part of it', pack: 'Mark as packed', ship: 'Mark as sent', received: 'I have it', askInvoice: 'Ask for an invoice', askReturn: 'Ask for a return', acceptReturn: 'Accept return', sentBack: 'I sent it back', receiveReturn: 'Received: refund it', dropOrder: 'Cancel order', block: 'Block', unblock: 'Unblock', createAccount: 'Create account', newPassword: 'Change password',
    start: 'Start now', pause: 'Pause', resume: 'Resume', stop: 'Stop', topUp: 'Add stock', units: 'Units to add', close: 'Cancel',
  },
};
