texts! {
    /// Delivery addresses, and what else a shopper's orders say.
    OrdersText {
        filter: "按状态筛选", "Filter by status";
        filter_all: "全部", "All";
        filter_unpaid: "待付款", "To pay";
        filter_paid: "已付款", "Paid";
        filter_ended: "已取消", "Cancelled";
        filter_refunds: "退款", "Refunds";
        none_so: "没有这类订单。", "No orders like that.";
        none_so_text: "换一个筛选条件，或者查看全部订单。", "Try another filter, or look at all of your orders.";
        see_all: "查看全部订单", "See all orders";
        newest: "回到最新", "Back to the newest";
        means_cancelled_by_shop: "商店取消了订单，没有产生扣款。", "The shop cancelled your order. Nothing was charged.";
        means_refunding_by_shop: "商店取消了订单，款项正在原路退回，通常几分钟内完成。",
            "The shop cancelled your order. Your money is on its way back to where it came from, usually within minutes.";
        means_refunded_by_shop: "商店取消了订单，款项已原路退回。",
            "The shop cancelled your order. Your money was returned to where it came from.";
        message: "商店留言", "A message from the shop";
        refund_how: "退款会退回原付款账户，无需你做任何操作。", "A refund goes back to the account you paid from. There is nothing you need to do.";
        deliver_to: "收货地址", "Delivery address";
        deliver_none: "还没有收货地址，付款前请填写。", "No delivery address yet. We ask for it before you pay.";
        deliver_default: "将使用你的默认地址。", "Your default address will be used.";
        deliver_choose: "填写收货地址", "Give a delivery address";
        deliver_change: "更改地址", "Change address";
        deliver_fixed: "订单已付款或已结束，地址不能再更改。", "The order is paid or over, so its address can no longer be changed.";
        deliver_not_yet: "订单正在生成，稍后即可填写收货地址。", "Your order is still being written. You can give the address in a moment.";
        deliver_needed: "付款前请先填写收货地址，订单和库存都为你保留着。",
            "Please tell us where to deliver before you pay. Your order and its pieces are still held for you.";
        deliver_which: "送到哪里？", "Where shall it go?";
        deliver_saved: "已保存的地址", "Your addresses";
        deliver_new: "使用新地址", "Use another address";
        deliver_keep: "保存到我的地址簿", "Keep it in my account";
        deliver_save: "保存地址", "Save address";
        deliver_pay: "保存并付款", "Save and pay";
        deliver_back: "返回订单", "Back to the order";
        addresses: "收货地址", "Delivery addresses";
        addresses_lead: "付款时可以直接选用。更改或删除不影响已有订单。",
            "Ready to choose when you pay. Changing or deleting one does not touch orders you have placed.";
        addresses_empty: "还没有保存的地址。", "No addresses yet.";
        addresses_empty_text: "添加一个，下次付款更快。", "Add one to be quicker when you pay.";
        address_add: "添加地址", "Add an address";
        address_new: "添加地址", "New address";
        address_edit: "编辑地址", "Edit address";
        address_default: "默认", "Default";
        address_make_default: "设为默认", "Make default";
        address_as_default: "设为默认地址", "Use as my default address";
        address_save: "保存", "Save";
        address_delete: "删除", "Delete";
        address_delete_question: "删除这个地址？", "Delete this address?";
        address_delete_text: "已有订单里的地址不受影响。", "Orders keep their own copy.";
        address_delete_no: "保留", "Keep it";
        address_full: "最多可以保存 20 个地址，请先删除一个。", "You can keep 20 addresses. Please delete one first.";
        address_errors: "请检查：", "Please check:";
        done_saved: "地址已保存。", "The address was saved.";
        done_deleted: "地址已删除。", "The address was deleted.";
        done_default: "默认地址已更改。", "This is your default address now.";
        recipient: "收货人", "Full name";
        phone: "电话", "Phone";
        phone_help: "仅用于配送联系，海外号码请加国家代码。", "Only for the delivery. With the country code if it is abroad.";
        country: "国家或地区", "Country or region";
        country_choose: "请选择", "Please choose";
        region: "省份 / 州", "State or province";
        city: "城市", "City";
        line1: "详细地址", "Street and number";
        line1_help: "区县、街道、门牌号", "District, street, house number";
        line2: "楼栋、单元、室（可不填）", "Apartment, floor (optional)";
        postal_code: "邮政编码", "Postal code";
        postal_help: "中国大陆地址可不填。", "Optional in many places.";
    }
}
