// What people read on what they press, so that a journey presses what a person would.

export const WORDS = {
  zh: {
    logIn: '登录', logOut: '退出', toRegister: '还没有账号？注册一个', register: '注册并登录', goLogIn: '去登录',
    username: '用户名', password: '密码', other: 'English',
    buy: '立即抢购', notOpen: '尚未开始', soldOut: '已售罄', seeOrder: '查看订单', orders: '我的订单',
    pay: /^去付款/, payAtCashier: '模拟付款成功', decline: '模拟付款失败', cancel: '取消订单', keep: '保留订单', reallyCancel: '确认取消',
    addAddress: '添加地址', makeDefault: '设为默认', everywhere: '退出所有设备',
    newGoods: '新建商品', newSale: '新建场次', save: '保存', create: '创建并排期', log: '操作记录', sales: '场次',
    draft: '存为草稿', schedule: '排期', preview: '预览', refundOrder: '退款', dropOrder: '取消订单', block: '停用', unblock: '恢复', createAccount: '新建账号', newPassword: '修改密码',
    start: '立即开始', pause: '暂停', resume: '恢复', stop: '终止', topUp: '加库存', pieces: '增加件数', sure: '我确定', close: '取消',
  },
  en: {
    logIn: 'Log in', logOut: 'Log out', toRegister: 'New here? Create an account', register: 'Create account', goLogIn: 'Log in',
    username: 'User name', password: 'Password', other: '中文',
    buy: 'Buy now', notOpen: 'Not open yet', soldOut: 'Sold out', seeOrder: 'See your order', orders: 'Orders',
    pay: /^Pay now/, payAtCashier: 'Pay', decline: 'Decline', cancel: 'Cancel order', keep: 'Keep it', reallyCancel: 'Yes, cancel it',
    addAddress: 'Add an address', makeDefault: 'Make default', everywhere: 'Sign out everywhere',
    newGoods: 'New product', newSale: 'New sale', save: 'Save', create: 'Create and schedule', log: 'Log', sales: 'Sales',
    draft: 'Save as draft', schedule: 'Schedule', preview: 'Preview', refundOrder: 'Refund order', dropOrder: 'Cancel order', block: 'Block', unblock: 'Unblock', createAccount: 'Create account', newPassword: 'Change password',
    start: 'Start now', pause: 'Pause', resume: 'Resume', stop: 'Stop', topUp: 'Top up', pieces: 'Pieces to add', sure: 'Yes, I am sure', close: 'Cancel',
  },
};
